-- What imports left out, by file and reason.
select
    key as path,
    value,
    recorded_at
from ledger
where kind = 'import'
order by recorded_at desc
limit 50
