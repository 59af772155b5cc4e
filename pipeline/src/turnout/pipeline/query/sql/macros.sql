-- How many turns, model calls or tool calls rows stand for: one each, or more where a cube counts them together.
create macro counted(n) as cast(coalesce(sum(n), 0) as bigint);

create macro counted_if(condition, n) as cast(coalesce(sum(n) filter (where condition), 0) as bigint);

-- The 95 % Wilson score interval of k of n (Wilson 1927); null where there is nothing to count.
-- z is the 0.975 quantile of the standard normal distribution.
create macro wilson_half(k, n) as
    1.959963984540054 / (1 + 3.841458820694124 / n)
    * sqrt((k / n) * (1 - k / n) / n + 3.841458820694124 / (4.0 * n * n));

create macro wilson_centre(k, n) as
    (k / n + 3.841458820694124 / (2.0 * n)) / (1 + 3.841458820694124 / n);

create macro wilson_low(k, n) as
    case when n > 0 then greatest(0.0, least(k / n, wilson_centre(k, n) - wilson_half(k, n))) end;

create macro wilson_high(k, n) as
    case when n > 0 then least(1.0, greatest(k / n, wilson_centre(k, n) + wilson_half(k, n))) end;

-- A number above zero rounded up to so many significant digits; 0 digits leave it as it is. Powers of ten above zero are whole, so that
-- what has so many digits stays what it is, to the last bit.
create macro rounded_up(value, digits) as
    case
        when digits = 0 or value is null or value <= 0 then cast(value as double)
        when digits - 1 - floor(log10(value)) >= 0
            then ceil(value * pow(10.0, digits - 1 - floor(log10(value))) - 1e-9) / pow(10.0, digits - 1 - floor(log10(value)))
        else ceil(value / pow(10.0, floor(log10(value)) - digits + 1) - 1e-9) * pow(10.0, floor(log10(value)) - digits + 1)
    end;
