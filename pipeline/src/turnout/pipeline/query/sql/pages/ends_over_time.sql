-- How many turns ended how, in buckets of $seconds by when they were over.
select
    time_bucket(to_seconds($seconds), over_at, timestamptz '2000-01-01 00:00:00+00') as bucket,
    bucket + to_seconds($seconds) as bucket_end,
    outcome,
    count(*) as turns
from counted_turns
where over_at is not null
group by all
order by all
