"""The receiver over TLS, with a certificate made for the test."""

import ssl
import subprocess
import urllib.request
from pathlib import Path

import grpc
import pytest

from receiving import export
from serving import ServeFixture
from turnout.pipeline.receive.bodies import Signal
from turnout.pipeline.receive.grpc import SERVICES
from turnout.pipeline.receive.listener import ListenError, Tls
from turnout.pipeline.receive.service import Options, Service


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Tls:
    """A self-signed certificate for 127.0.0.1."""
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "cert.pem", folder / "key.pem"
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    made = ["-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", str(key), "-out", str(certificate)]
    try:
        subprocess.run(["openssl", "req", "-x509", *made, *subject], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    return Tls(certificate, key)


def test_http_and_grpc_speak_tls(serve: ServeFixture, tls: Tls) -> None:
    """Both doors use the certificate; the addresses say https."""
    service = serve(tls=tls, grpc_port=0)
    body = export().SerializeToString()
    context = ssl.create_default_context(cafile=str(tls.certificate))
    request = urllib.request.Request(f"{service.endpoint}/v1/traces", body, {"content-type": "application/x-protobuf"})
    with urllib.request.urlopen(request, context=context) as answer:
        assert (service.endpoint.partition(":")[0], answer.status) == ("https", 200)
    assert service.grpc is not None
    credentials = grpc.ssl_channel_credentials(tls.certificate.read_bytes())
    with grpc.secure_channel(f"127.0.0.1:{service.grpc.port}", credentials) as channel:
        method: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(f"/{SERVICES[Signal.TRACES]}/Export")
        assert method(body, timeout=30) == b""


def test_a_key_that_does_not_fit_is_one_sentence(tls: Tls, tmp_path: Path) -> None:
    """A start with files that are no certificate and key fails, and says so."""
    wrong = tmp_path / "wrong.pem"
    wrong.write_text("nothing")
    service = Service(str(tmp_path / "lake"), Options(port=0, grpc_port=None, tls=Tls(tls.certificate, wrong)))
    with pytest.raises(ListenError, match="check address and TLS files"):
        service.start()
