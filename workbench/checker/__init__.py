"""Certificates re-checked with the standard library alone: `python -m workbench.checker FILE`.

Nothing else of the package is imported here, so that what is verified rests on these modules and
on Python.

recheck          the one door: every kind of certificate
reader           fields, labels, numbers, tasks, policies and memories, each row checked
place_graph      a task with a memory, walked through; values of a policy, and along a segment
expressions      polynomials and quotients in several names, from text
polynomials      roots in one name (Sturm), linear systems and determinants of polynomials
plane_polynomials  the cells into which zeros in two names cut the square
positivity       signs on a box from coefficients; conditions that exclude one another
ledger_file      what each claim of a ledger has to certify
loop_claims, every_k_claims, value_claims, memory_claims, algebra_claims, fixed_point_claims,
fixed_region_claims, greedy_set_claims, critical_claims, sum_claims
                 the kinds
"""
