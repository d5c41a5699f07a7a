"""Carries a plan out: one attempt start to finish, workers, and Ray, which places them."""
