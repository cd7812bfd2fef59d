SELECT pg_advisory_xact_lock(hashtextextended('hocket create budgets', 0));
CREATE TABLE IF NOT EXISTS hocket_budget_limit (name TEXT PRIMARY KEY, usd BIGINT, tokens BIGINT);
CREATE TABLE IF NOT EXISTS hocket_budget (
    name TEXT, key TEXT, period TEXT, ends DOUBLE PRECISION,
    usd BIGINT NOT NULL DEFAULT 0, tokens BIGINT NOT NULL DEFAULT 0,
    orphaned_usd BIGINT NOT NULL DEFAULT 0, orphaned_tokens BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (name, key, period)
);
-- What is held stands here, too: a batch holds thousands of rows for a day, and no call is to sum them up.
ALTER TABLE hocket_budget ADD COLUMN IF NOT EXISTS held_usd BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS held_tokens BIGINT NOT NULL DEFAULT 0;
CREATE TABLE IF NOT EXISTS hocket_reservation (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, key TEXT NOT NULL, period TEXT NOT NULL,
    usd BIGINT NOT NULL, tokens BIGINT NOT NULL, until DOUBLE PRECISION NOT NULL, charged BOOLEAN NOT NULL DEFAULT FALSE
);
CREATE INDEX IF NOT EXISTS hocket_reservation_account ON hocket_reservation (name, key, period, charged, until);

CREATE OR REPLACE FUNCTION hocket_budget_ask_2(
    a_name TEXT, a_key TEXT, a_period TEXT, a_start FLOAT8, a_end FLOAT8, a_id TEXT, a_usd BIGINT, a_tokens BIGINT,
    limit_usd BIGINT, limit_tokens BIGINT, is_new BOOLEAN, lease FLOAT8, kept FLOAT8, is_forced BOOLEAN
) RETURNS TABLE (
    granted BOOLEAN, moment FLOAT8, known_usd BIGINT, known_tokens BIGINT, is_replaced BOOLEAN, old_usd BIGINT,
    old_tokens BIGINT, spent_usd BIGINT, spent_tokens BIGINT, held_usd BIGINT, held_tokens BIGINT,
    dead_usd BIGINT, dead_tokens BIGINT
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    total hocket_budget%ROWTYPE;
    known hocket_budget_limit%ROWTYPE;
    charged_usd BIGINT; charged_tokens BIGINT;
BEGIN
    moment := extract(epoch FROM clock_timestamp());
    IF moment < a_start OR moment >= a_end THEN RETURN NEXT; RETURN; END IF;

    SELECT * INTO known FROM hocket_budget_limit WHERE name = a_name;
    is_replaced := FALSE; known_usd := limit_usd; known_tokens := limit_tokens;
    IF FOUND AND (known.usd IS DISTINCT FROM limit_usd OR known.tokens IS DISTINCT FROM limit_tokens) THEN
        old_usd := known.usd; old_tokens := known.tokens;
        is_replaced := is_new;
        IF NOT is_new THEN known_usd := known.usd; known_tokens := known.tokens; END IF;
    END IF;
    IF a_id <> '' AND (known.name IS NULL OR is_replaced) THEN
        INSERT INTO hocket_budget_limit VALUES (a_name, limit_usd, limit_tokens)
        ON CONFLICT (name) DO UPDATE SET usd = excluded.usd, tokens = excluded.tokens;
    END IF;

    SELECT * INTO total FROM hocket_budget WHERE name = a_name AND key = a_key AND period = a_period FOR UPDATE;
    IF NOT FOUND AND a_id <> '' THEN
        DELETE FROM hocket_reservation r USING hocket_budget b
        WHERE b.name = a_name AND b.key = a_key AND b.ends < moment - kept
            AND r.name = b.name AND r.key = b.key AND r.period = b.period;
        DELETE FROM hocket_budget WHERE name = a_name AND key = a_key AND ends < moment - kept;
        INSERT INTO hocket_budget (name, key, period, ends) VALUES (a_name, a_key, a_period, a_end)
        ON CONFLICT DO NOTHING;
        SELECT * INTO total FROM hocket_budget WHERE name = a_name AND key = a_key AND period = a_period FOR UPDATE;
    END IF;
    moment := extract(epoch FROM clock_timestamp());

    WITH dead AS (
        UPDATE hocket_reservation SET charged = TRUE, until = moment + kept
        WHERE name = a_name AND key = a_key AND period = a_period AND NOT charged AND until <= moment
        RETURNING usd, tokens
    ) SELECT coalesce(sum(usd), 0), coalesce(sum(tokens), 0) INTO charged_usd, charged_tokens FROM dead;
    IF charged_usd > 0 OR charged_tokens > 0 THEN
        UPDATE hocket_budget SET usd = usd + charged_usd, tokens = tokens + charged_tokens,
            orphaned_usd = orphaned_usd + charged_usd, orphaned_tokens = orphaned_tokens + charged_tokens,
            held_usd = held_usd - charged_usd, held_tokens = held_tokens - charged_tokens
        WHERE name = a_name AND key = a_key AND period = a_period RETURNING * INTO total;
        DELETE FROM hocket_reservation
        WHERE name = a_name AND key = a_key AND period = a_period AND charged AND until <= moment;
    END IF;

    held_usd := coalesce(total.held_usd, 0); held_tokens := coalesce(total.held_tokens, 0);
    spent_usd := coalesce(total.usd, 0); spent_tokens := coalesce(total.tokens, 0);
    dead_usd := coalesce(total.orphaned_usd, 0); dead_tokens := coalesce(total.orphaned_tokens, 0);
    granted := is_forced OR (known_usd IS NULL OR spent_usd + held_usd + a_usd <= known_usd)
        AND (known_tokens IS NULL OR spent_tokens + held_tokens + a_tokens <= known_tokens);
    IF granted AND a_id <> '' THEN
        INSERT INTO hocket_reservation VALUES (a_id, a_name, a_key, a_period, a_usd, a_tokens, moment + lease)
        ON CONFLICT DO NOTHING;
        IF FOUND THEN
            UPDATE hocket_budget SET held_usd = held_usd + a_usd, held_tokens = held_tokens + a_tokens
            WHERE name = a_name AND key = a_key AND period = a_period;
        END IF;
    ELSIF a_id <> '' THEN
        granted := EXISTS (SELECT FROM hocket_reservation WHERE id = a_id);
    END IF;
    RETURN NEXT;
END $$;

-- In its own account: that of a row of a batch may be in another period than was thought.
CREATE OR REPLACE FUNCTION hocket_budget_settle_2(a_id TEXT, a_usd BIGINT, a_tokens BIGINT)
RETURNS BOOLEAN LANGUAGE plpgsql AS $$
DECLARE
    held hocket_reservation%ROWTYPE;
BEGIN
    PERFORM 1 FROM hocket_budget b, hocket_reservation r
    WHERE r.id = a_id AND b.name = r.name AND b.key = r.key AND b.period = r.period FOR UPDATE OF b;
    DELETE FROM hocket_reservation WHERE id = a_id RETURNING * INTO held;
    IF NOT FOUND THEN RETURN FALSE; END IF;
    IF held.charged THEN
        UPDATE hocket_budget SET usd = usd + a_usd - held.usd, tokens = tokens + a_tokens - held.tokens,
            orphaned_usd = orphaned_usd - held.usd, orphaned_tokens = orphaned_tokens - held.tokens
        WHERE name = held.name AND key = held.key AND period = held.period;
    ELSE
        UPDATE hocket_budget SET usd = usd + a_usd, tokens = tokens + a_tokens,
            held_usd = held_usd - held.usd, held_tokens = held_tokens - held.tokens
        WHERE name = held.name AND key = held.key AND period = held.period;
    END IF;
    RETURN TRUE;
END $$;
