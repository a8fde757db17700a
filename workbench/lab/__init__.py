"""The counterexample lab: many small tasks at once, and exact certificates for what is found among
them."""
