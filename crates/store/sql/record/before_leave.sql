-- Somebody has said something of records that other channels pushed over: these bring nothing back.
DELETE FROM record_before WHERE document IN any_of($1) AND channel <> $2
