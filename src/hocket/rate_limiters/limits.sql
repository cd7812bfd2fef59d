SELECT pg_advisory_xact_lock(hashtextextended('hocket create limits', 0));
CREATE TABLE IF NOT EXISTS hocket_limit (
    name text PRIMARY KEY, format int NOT NULL, seen float8 NOT NULL, requests float8 NOT NULL, tokens float8 NOT NULL,
    input float8 NOT NULL, output float8 NOT NULL, size float8 NOT NULL, burst float8 NOT NULL, most float8 NOT NULL,
    adaptive float8 NOT NULL, learned float8[] NOT NULL DEFAULT '{0,0,0,0}', guess boolean NOT NULL DEFAULT false,
    last float8 NOT NULL DEFAULT 0, bottom float8 NOT NULL DEFAULT 0, seq bigint NOT NULL DEFAULT 0,
    used1 bigint NOT NULL DEFAULT 0, used2 bigint NOT NULL DEFAULT 0, factor float8 NOT NULL DEFAULT 1,
    ceiling float8 NOT NULL DEFAULT 1, cut float8 NOT NULL DEFAULT 0, paused float8 NOT NULL DEFAULT 0,
    refused bigint NOT NULL DEFAULT 0,
    mark float8 NOT NULL DEFAULT 0, marked bigint NOT NULL DEFAULT 0, mark2 float8 NOT NULL DEFAULT 0,
    marked2 bigint NOT NULL DEFAULT 0) WITH (fillfactor = 50);
ALTER TABLE hocket_limit ADD COLUMN IF NOT EXISTS probe bigint NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS probe_until float8 NOT NULL DEFAULT 0;
CREATE TABLE IF NOT EXISTS hocket_limit_log (
    name text, seq bigint, at float8 NOT NULL, input bigint NOT NULL, output bigint NOT NULL, PRIMARY KEY (name, seq));
CREATE TABLE IF NOT EXISTS hocket_limit_member (
    name text, member text, until float8 NOT NULL, in_flight int NOT NULL, PRIMARY KEY (name, member));

CREATE OR REPLACE FUNCTION hocket_limit_effective_@FORMAT(given float8, learned float8) RETURNS float8
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN given > 0 AND learned > 0 THEN least(given, learned) ELSE greatest(given, learned) END
$$;

-- Locks the row and returns it; nothing where there is none, or none that is fresh.
CREATE OR REPLACE FUNCTION hocket_limit_take_@FORMAT(_name text, _now float8) RETURNS SETOF hocket_limit
LANGUAGE plpgsql AS $$
DECLARE s hocket_limit; now_ float8;
BEGIN
    SELECT * INTO s FROM hocket_limit l WHERE l.name = _name FOR UPDATE;
    now_ := coalesce(_now, extract(epoch FROM clock_timestamp()));  -- the time when the lock was got
    IF s.name IS NULL OR s.format <> @FORMAT OR now_ - s.seen > 600 + 2 * s.size THEN RETURN; END IF;
    s.seen := now_;
    RETURN NEXT s;
END $$;

-- ends: seq, input, output, back (null: used); needs: input, output.  Returns the processes, then wait, seq, back, and whether it is the probe.
CREATE OR REPLACE FUNCTION hocket_limit_exchange_@FORMAT(
    _name text, _now float8, me text, held int, flying int, horizon float8, reports boolean, ends float8[], needs bigint[])
RETURNS float8[] LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    s hocket_limit; now_ float8; out_ float8[]; e record; i int := 1; busy int := 0; alive int := 0; granted int := 0;
    limit0 float8; limit1 float8; limit2 float8; limit3 float8; rate float8; step float8; paced float8; at_ float8;
    n1 bigint; n2 bigint; u1 bigint; u2 bigint; cap0 float8; cap1 float8; cap2 float8; gone float8; top bigint;
    places int; before float8; ahead float8; growth float8; ceiling_ float8; back_ float8;
    is_over boolean;
BEGIN
    SELECT * INTO s FROM hocket_limit_take_@FORMAT(_name, _now);
    IF s.name IS NULL THEN RETURN NULL; END IF;
    now_ := s.seen;
    WHILE i <= coalesce(array_length(ends, 1), 0) LOOP
        SELECT * INTO e FROM hocket_limit_log l WHERE l.name = _name AND l.seq = ends[i];
        IF FOUND THEN
            s.used1 := s.used1 + ends[i + 1] - e.input; s.used2 := s.used2 + ends[i + 2] - e.output;
            UPDATE hocket_limit_log l SET input = ends[i + 1], output = ends[i + 2] WHERE l.name = _name AND l.seq = e.seq;
        END IF;
        IF ends[i] = s.probe THEN s.probe := CASE WHEN ends[i + 3] IS NULL THEN 0 ELSE -1 END; END IF;
        IF ends[i + 3] IS NOT NULL AND ends[i] = s.seq THEN
            DELETE FROM hocket_limit_log l WHERE l.name = _name AND l.seq = s.seq;
            s.last := s.last - ends[i + 3]; s.seq := s.seq - 1;
        END IF;
        i := i + 4;
    END LOOP;
    IF reports THEN
        DELETE FROM hocket_limit_member m WHERE m.name = _name AND m.until <= now_;
        SELECT coalesce(sum(m.in_flight), 0), count(*) + 1 INTO busy, alive
            FROM hocket_limit_member m WHERE m.name = _name AND m.member <> me;
    END IF;
    out_ := ARRAY[alive]::float8[];
    i := 1;
    WHILE i <= coalesce(array_length(needs, 1), 0) LOOP
        IF s.most > 0 AND granted >= s.most - busy - flying THEN out_ := out_ || ARRAY[@SOON, 0, 2, 0]::float8[]; EXIT; END IF;
        IF s.probe > 0 AND s.probe_until > now_ THEN
            out_ := out_ || ARRAY[s.probe_until - now_, 0, 3, 0]::float8[]; EXIT;
        END IF;
        IF s.probe > 0 THEN s.probe := -1; END IF;
        n1 := needs[i]; n2 := needs[i + 1];
        limit0 := hocket_limit_effective_@FORMAT(s.requests, s.learned[1]);
        limit1 := hocket_limit_effective_@FORMAT(s.tokens, s.learned[2]);
        limit2 := hocket_limit_effective_@FORMAT(s.input, s.learned[3]);
        limit3 := hocket_limit_effective_@FORMAT(s.output, s.learned[4]);
        rate := limit0 * s.factor; step := CASE WHEN rate > 0 THEN s.size / rate ELSE 0 END;
        paced := greatest(now_, s.last, s.bottom, s.paused);
        IF rate > 0 THEN
            IF s.burst = 1 THEN paced := greatest(paced, s.last + step);
            ELSE
                places := least(s.burst, greatest(1, floor(rate)));
                SELECT l.at INTO before FROM hocket_limit_log l WHERE l.name = _name AND l.seq = s.seq - places + 1;
                IF FOUND THEN paced := greatest(paced, before + places * step); END IF;
                SELECT l.at INTO before FROM hocket_limit_log l
                    WHERE l.name = _name AND l.seq = s.seq - greatest(1, floor(greatest(rate, limit0)))::bigint + 1;
                IF FOUND THEN paced := greatest(paced, before + s.size); END IF;
            END IF;
        END IF;
        at_ := paced; u1 := s.used1; u2 := s.used2; top := 0;
        cap0 := CASE WHEN limit1 > 0 THEN greatest(limit1 * s.factor, n1 + n2) ELSE 'infinity' END;
        cap1 := CASE WHEN limit2 > 0 THEN greatest(limit2 * s.factor, n1) ELSE 'infinity' END;
        cap2 := CASE WHEN limit3 > 0 THEN greatest(limit3 * s.factor, n2) ELSE 'infinity' END;
        FOR e IN SELECT l.seq, l.at, l.input, l.output FROM hocket_limit_log l WHERE l.name = _name ORDER BY l.seq LOOP
            is_over := u1 + u2 + n1 + n2 > cap0 OR u1 + n1 > cap1 OR u2 + n2 > cap2;
            IF e.at + s.size > at_ THEN
                EXIT WHEN NOT is_over;
                at_ := e.at + s.size;
            END IF;
            gone := e.at + s.size; top := e.seq; u1 := u1 - e.input; u2 := u2 - e.output;
        END LOOP;
        ahead := at_ - now_;
        IF ahead > horizon THEN
            IF at_ > paced THEN out_ := out_ || ARRAY[ahead - horizon, 0, 1, 0]::float8[]; EXIT; END IF;
            IF held > 0 AND NOT (step > 0 AND (held + 1) * step <= horizon) THEN
                out_ := out_ || ARRAY[ahead - horizon, 0, 0, 0]::float8[]; EXIT;
            END IF;
        END IF;
        IF top > 0 THEN
            DELETE FROM hocket_limit_log l WHERE l.name = _name AND l.seq <= top;
            s.bottom := gone;
        END IF;
        back_ := at_ - s.last;
        out_ := out_ || ARRAY[ahead, s.seq + 1, back_, (s.probe = -1)::int]::float8[];
        IF s.probe = -1 THEN s.probe := s.seq + 1; s.probe_until := at_ + @PROBE; END IF;
        s.last := at_; s.seq := s.seq + 1; s.used1 := u1 + n1; s.used2 := u2 + n2;
        IF s.burst > 1 OR n1 + n2 > 0 OR s.tokens + s.input + s.output + s.learned[2] + s.learned[3] + s.learned[4] > 0 THEN
            INSERT INTO hocket_limit_log VALUES (_name, s.seq, at_, n1, n2);
        END IF;
        growth := @FAST;
        IF s.factor >= @NEAR * s.ceiling THEN growth := least(@FAST, @SLOW * (1 + (now_ - s.cut) / @PATIENCE)); END IF;
        ceiling_ := CASE WHEN s.guess THEN @MOST ELSE 1 END;
        IF s.factor < ceiling_ THEN s.factor := least(ceiling_, s.factor * (1 + growth * least(back_, 1))); END IF;
        IF now_ - s.mark2 > s.size THEN
            s.mark := s.mark2; s.marked := s.marked2; s.mark2 := now_; s.marked2 := s.seq - 1 - s.refused;
            IF now_ - s.mark > 2 * s.size THEN s.mark := now_; s.marked := s.marked2; END IF;
        END IF;
        granted := granted + 1; i := i + 2;
        IF ahead > 0 THEN held := held + 1; END IF;
    END LOOP;
    IF reports THEN
        INSERT INTO hocket_limit_member VALUES (_name, me, now_ + @LEASE, flying + granted)
            ON CONFLICT (name, member) DO UPDATE SET until = excluded.until, in_flight = excluded.in_flight;
    END IF;
    UPDATE hocket_limit l SET seen = now_, last = s.last, bottom = s.bottom, seq = s.seq, used1 = s.used1,
        used2 = s.used2, factor = s.factor, mark = s.mark, marked = s.marked, mark2 = s.mark2, marked2 = s.marked2,
        probe = s.probe, probe_until = s.probe_until WHERE l.name = _name;
    RETURN out_;
END $$;

-- Returns the limits that held so far, if the row was fresh.
CREATE OR REPLACE FUNCTION hocket_limit_configure_@FORMAT(_name text, _now float8, numbers float8[])
RETURNS float8[] LANGUAGE plpgsql AS $$
DECLARE s hocket_limit; now_ float8 := coalesce(_now, extract(epoch FROM clock_timestamp())); format_ int;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('hocket limit ' || _name, 0));
    SELECT * INTO s FROM hocket_limit_take_@FORMAT(_name, _now);
    IF s.name IS NULL THEN
        SELECT l.format INTO format_ FROM hocket_limit l WHERE l.name = _name;
        IF format_ > @FORMAT THEN RETURN ARRAY[format_]::float8[]; END IF;
        DELETE FROM hocket_limit l WHERE l.name = _name;
        DELETE FROM hocket_limit_log l WHERE l.name = _name;
        INSERT INTO hocket_limit (name, format, seen, requests, tokens, input, output, size, burst, most, adaptive)
            VALUES (_name, @FORMAT, now_, numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], numbers[6], numbers[7],
                numbers[8]);
        RETURN NULL;
    END IF;
    IF s.guess AND numbers[1] + numbers[2] + numbers[3] + numbers[4] > 0 THEN
        s.guess := false; s.learned[1] := 0; s.factor := least(s.factor, 1);
    END IF;
    UPDATE hocket_limit l SET requests = numbers[1], tokens = numbers[2], input = numbers[3], output = numbers[4],
        size = numbers[5], burst = numbers[6], most = numbers[7], adaptive = numbers[8], seen = now_, guess = s.guess,
        learned = s.learned, factor = s.factor WHERE l.name = _name;
    RETURN ARRAY[s.requests, s.tokens, s.input, s.output, s.size, s.burst, s.most, s.adaptive];
END $$;

CREATE OR REPLACE FUNCTION hocket_limit_learn_@FORMAT(
    _name text, _now float8, pause float8, cuts boolean, told float8[], probes boolean)
RETURNS float8[] LANGUAGE plpgsql AS $$
DECLARE s hocket_limit; refusal float8[]; through float8; rate float8;
BEGIN
    SELECT * INTO s FROM hocket_limit_take_@FORMAT(_name, _now);
    IF s.name IS NULL THEN RETURN NULL; END IF;
    FOR i IN 1..4 LOOP IF told[i] > 0 THEN s.learned[i] := told[i]; END IF; END LOOP;
    IF s.guess AND told[1] + told[2] + told[3] + told[4] > 0 THEN
        s.guess := false; s.factor := least(s.factor, 1); s.learned[1] := told[1];
    END IF;
    s.paused := greatest(s.paused, s.seen + pause);
    IF cuts THEN s.refused := s.refused + 1; END IF;
    IF cuts AND s.adaptive = 1 AND s.seen - s.cut > @PAUSE THEN
        through := s.seq - s.refused;
        rate := hocket_limit_effective_@FORMAT(s.requests, s.learned[1]);
        refusal := ARRAY[(rate + s.tokens + s.input + s.output + s.learned[2] + s.learned[3] + s.learned[4] > 0)::int,
            s.guess::int, rate, s.size, s.factor, s.seen - s.mark, through - s.marked, through - s.marked2];
        s.cut := s.seen;
    END IF;
    UPDATE hocket_limit l SET seen = s.seen, learned = s.learned, guess = s.guess, factor = s.factor, cut = s.cut,
        paused = s.paused, refused = s.refused, probe = CASE WHEN probes THEN -1 ELSE l.probe END WHERE l.name = _name;
    RETURN refusal;
END $$;

CREATE OR REPLACE FUNCTION hocket_limit_adopt_@FORMAT(_name text, _now float8, guess_ float8, share float8)
RETURNS float8[] LANGUAGE sql AS $$
    UPDATE hocket_limit l SET ceiling = l.factor, factor = share, guess = l.guess OR guess_ > 0,
        learned[1] = CASE WHEN guess_ > 0 THEN guess_ ELSE l.learned[1] END WHERE l.name = _name RETURNING NULL::float8[]
$$;

CREATE OR REPLACE FUNCTION hocket_limit_read_@FORMAT(_name text, _now float8) RETURNS float8[] LANGUAGE plpgsql AS $$
DECLARE s hocket_limit; gone1 bigint; gone2 bigint; alive int; busy int;
BEGIN
    SELECT * INTO s FROM hocket_limit_take_@FORMAT(_name, _now);
    IF s.name IS NULL THEN RETURN NULL; END IF;
    SELECT coalesce(sum(l.input), 0), coalesce(sum(l.output), 0) INTO gone1, gone2
        FROM hocket_limit_log l WHERE l.name = _name AND l.at + s.size <= s.seen;
    SELECT count(*), coalesce(sum(m.in_flight), 0) INTO alive, busy
        FROM hocket_limit_member m WHERE m.name = _name AND m.until > s.seen;
    RETURN ARRAY[hocket_limit_effective_@FORMAT(s.requests, s.learned[1]),
        hocket_limit_effective_@FORMAT(s.tokens, s.learned[2]), hocket_limit_effective_@FORMAT(s.input, s.learned[3]),
        hocket_limit_effective_@FORMAT(s.output, s.learned[4]), s.factor, greatest(0, s.paused - s.seen),
        s.used1 - gone1, s.used2 - gone2, greatest(alive, 1), busy];
END $$;
