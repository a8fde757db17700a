(* Tactics that follow the proofs written out by `proofs/ledger/coq_algebra.py`; they search for
   nothing. *)
From Coq Require Import Reals Lra.
Open Scope R_scope.

Ltac nonnegative := first [ assumption | left; assumption |
  match goal with
  | |- 0 <= _ + _ => apply Rplus_le_le_0_compat; nonnegative
  | |- 0 <= _ * _ => apply Rmult_le_pos; nonnegative
  | |- 0 <= _ ^ 2 => apply pow2_ge_0
  | |- 0 <= _ ^ _ => apply pow_le; nonnegative
  | |- _ => lra
  end ].
Ltac positive := first [ assumption |
  match goal with
  | |- 0 < _ * _ => apply Rmult_lt_0_compat; positive
  | |- 0 < _ ^ _ => apply pow_lt; positive
  | |- _ => lra
  end ].
Ltac positive_sum :=
  match goal with
  | |- 0 < _ + _ => apply Rplus_lt_le_0_compat; [positive | nonnegative]
  | |- _ => positive
  end.
(* 0 < s, 0 <= t_j and s + t_1 + ... = 0 *)
Ltac lra_of_terms :=
  match goal with
  | Z : ?total = 0 |- False =>
      apply (Rlt_irrefl 0); rewrite <- Z at 2; sum_of_terms
  end
with sum_of_terms :=
  first [ assumption | apply Rplus_lt_le_0_compat; [sum_of_terms | assumption] ].
(* the denominators that `field` leaves are those that were given, up to a number *)
Ltac same_denominators :=
  repeat split;
  match goal with
  | |- ?e <> 0 =>
      first [ assumption | lra
            | let E := fresh in intro E;
              match goal with
              | D : ?d <> 0 |- _ =>
                  first [ apply D; rewrite <- E; ring
                        | apply D; apply Ropp_eq_0_compat in E; rewrite <- E; ring ]
              end
            | intro; nra ]
  end.
