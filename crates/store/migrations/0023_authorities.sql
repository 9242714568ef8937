-- of an authority: how it is asked, beside its settings
ALTER TABLE connection ADD asking TEXT;
