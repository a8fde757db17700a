(* Tasks of two steps with one observation, rewards r(a_1, a_2) at the end, and a deterministic
   memory: visits, q-values and returns in closed form. Lemma C.1 is the case of B1. *)
From Coq Require Import Reals Lra Lia List Bool Arith.
From Remembering Require Import Sums Model.
Import ListNotations.
Open Scope R_scope.

(** * Deterministic memories *)

(* m' = u(m, w, o, a), from m0 *)
Definition det {P} (M W : Type) (ws : list W) (u : M -> W -> obs P -> act P -> M) (m0 : M)
  (Md : forall x y : M, {x = y} + {x <> y}) (Wd : forall x y : W, {x = y} + {x <> y}) : memory P :=
  Memory P M W ws (fun m w o a _ _ => ret (u m w o a)) (ret m0) Md Wd.
Lemma det_is_memory {P} M W ws u m0 Md Wd : NoDup ws -> ws <> [] ->
  is_memory (det (P := P) M W ws u m0 Md Wd).
Proof. intros N S. constructor; simpl; auto; intros; apply is_dist_ret. Qed.

(* B(k): K = 2^k words, of which the agent writes one at each step (Definition 4.3) *)
Definition words (P : pomdp) (K : nat) : memory P :=
  det nat nat (seq 0 K) (fun _ w _ _ => w) 0%nat Nat.eq_dec Nat.eq_dec.
Definition B (P : pomdp) (k : nat) : memory P := words P (2 ^ k).
(* writes of buffers; push is the higher one *)
Inductive hold := Keep | Push.
Definition hold_dec (x y : hold) : {x = y} + {x <> y}.
Proof. decide equality. Defined.
Definition option_dec {T} (d : forall x y : T, {x = y} + {x <> y}) (x y : option T) :
  {x = y} + {x <> y}.
Proof. decide equality. Defined.
(* O1 and OA1 hold an observation, or a pair, or nothing (Definitions 4.4, A.4); K1 always pushes *)
Definition O1 (P : pomdp) : memory P :=
  det (option (obs P)) hold [Keep; Push] (fun m w o _ => match w with Keep => m | Push => Some o end)
    None (option_dec (obs_dec P)) hold_dec.
Definition OA1 (P : pomdp) : memory P :=
  det (option (obs P * act P)) hold [Keep; Push]
    (fun m w o a => match w with Keep => m | Push => Some (o, a) end)
    None (option_dec (pair_dec (obs_dec P) (act_dec P))) hold_dec.
Definition K1 (P : pomdp) : memory P :=
  det (option (obs P)) hold [Push] (fun _ _ o _ => Some o) None (option_dec (obs_dec P)) hold_dec.
Definition none (P : pomdp) : memory P :=
  det unit unit [tt] (fun _ _ _ _ => tt) tt
    (fun x y => match x, y with tt, tt => left eq_refl end)
    (fun x y => match x, y with tt, tt => left eq_refl end).

(** * Tables *)

Inductive place := Start | After (a : nat) | End.
Definition unit_dec (x y : unit) : {x = y} + {x <> y} :=
  match x, y with tt, tt => left eq_refl end.
(* n actions 0, ..., n-1; two steps; r a1 a2 at the end; no discount *)
Definition table (n : nat) (r : nat -> nat -> R) : pomdp :=
  Pomdp place unit nat (seq 0 n)
    (fun s a => match s with
                | Start => ret (After a, 0)
                | After b => ret (End, r b a)
                | End => ret (End, 0)
                end)
    (fun _ => ret tt) 1 (ret Start)
    (fun s => match s with End => true | _ => false end)
    unit_dec Nat.eq_dec.
Lemma table_is_pomdp n r : (0 < n)%nat -> is_pomdp (table n r).
Proof.
  intros H. constructor; simpl; try lra.
  - intros [|b|] a _; apply is_dist_ret.
  - intros _. apply is_dist_ret.
  - apply is_dist_ret.
  - apply seq_NoDup.
  - destruct n; [lia|discriminate].
Qed.
Lemma table_horizon n r : horizon (table n r) 2.
Proof.
  intros y [<-|[]]. simpl. right. intros a y _ [<-|[]]. simpl. right.
  intros b z _ [<-|[]]. simpl. auto.
Qed.

Section Table.
Variables (n : nat) (r : nat -> nat -> R) (M W : Type) (ws : list W).
Variables (u : M -> W -> unit -> nat -> M) (m0 : M).
Variables (Md : forall x y : M, {x = y} + {x <> y}) (Wd : forall x y : W, {x = y} + {x <> y}).
Let P := table n r.
Let E := augment P (det (P := P) M W ws u m0 Md Wd).
Implicit Types (pi : policy E) (m : M) (b : nat * W).

Definition choices : list (nat * W) := list_prod (seq 0 n) ws.
Definition is (x y : M) : R := if Md x y then 1 else 0.
Definition to m b : M := u m (snd b) tt (fst b).
(* the reward that follows when the first action is a, and the memory is m afterwards *)
Definition later pi (a : nat) m : R := sum choices (fun c : nat * W => pi (m, tt) c * r a (fst c)).
Definition came pi m : R := sum choices (fun c : nat * W => pi (m0, tt) c * is (to m0 c) m).
Definition earned pi m (a : nat) : R :=
  sum choices (fun c : nat * W => pi (m0, tt) c * (is (to m0 c) m * r (fst c) a)).

Lemma mu_E f : mean (mu E) f = f (Start, m0, tt).
Proof. unfold mean. simpl. ring. Qed.
Lemma p_start m w a f : mean (p E (Start, m, tt) (a, w)) f = f ((After a, u m w tt a, tt), 0).
Proof. unfold mean. simpl. ring. Qed.
Lemma p_after c m w a f : mean (p E (After c, m, tt) (a, w)) f = f ((End, u m w tt a, tt), r c a).
Proof. unfold mean. simpl. ring. Qed.
Lemma omega_E s m o f : mean (omega E (s, m, o)) f = f (m, o).
Proof. unfold mean. simpl. ring. Qed.
Lemma vn_end pi k m o : vn pi k (End, m, o) = 0.
Proof. destruct k; reflexivity. Qed.
Lemma q_after pi k c m b : qn pi k (After c, m, tt) b = r c (fst b).
Proof. destruct b as [a w]. unfold qn, next. rewrite p_after. cbn [fst snd]. rewrite vn_end. simpl. ring. Qed.
Lemma vn_after pi k c m : vn pi (S k) (After c, m, tt) = later pi c m.
Proof.
  cbn [vn]. unfold backup. cbn [terminal]. simpl (terminal E _). cbv iota. rewrite omega_E.
  apply sum_ext. intros b. f_equal. apply q_after.
Qed.
Lemma q_start pi k m b : qn pi (S k) (Start, m, tt) b = later pi (fst b) (to m b).
Proof.
  destruct b as [a w]. unfold qn, next. rewrite p_start. cbn [fst snd]. rewrite vn_after.
  simpl (gamma E). ring_simplify. reflexivity.
Qed.
Lemma expect_start pi f : expect pi 0 f = f (Start, m0, tt).
Proof. apply mu_E. Qed.
Lemma expect_second pi f :
  expect pi 1 f = sum choices (fun c : nat * W => pi (m0, tt) c * f (After (fst c), to m0 c, tt)).
Proof.
  cbn [expect]. rewrite mu_E. unfold go. simpl (terminal E _). cbv iota. rewrite omega_E.
  apply sum_ext. intros [a w]. f_equal. rewrite p_start. reflexivity.
Qed.
Lemma sees_E s m m' : sees (P := E) (s, m, tt) (m', tt) = match s with End => 0 | _ => is m m' end.
Proof.
  unfold sees, prob. destruct s; simpl (terminal E _); cbv iota; auto;
    rewrite omega_E; simpl (obs_dec E); unfold is;
    match goal with |- (if ?d then _ else _) = _ => destruct d as [X|X] end;
    destruct (Md m m') as [Y|Y];
    first [ reflexivity | exfalso; apply Y; exact (f_equal fst X)
          | exfalso; apply X; rewrite Y; reflexivity ].
Qed.

Lemma visits_table pi m : visits 2 pi (m, tt) = is m0 m + came pi m.
Proof.
  unfold visits, visits_n, sumn. simpl seq. cbn [sum]. rewrite expect_start, expect_second.
  rewrite sees_E. unfold came.
  rewrite (sum_ext _ (fun c : nat * W => pi (m0, tt) c * sees (P := E) (After (fst c), to m0 c, tt) (m, tt))
                     (fun c : nat * W => pi (m0, tt) c * is (to m0 c) m)).
  - ring.
  - intros c. f_equal. apply (sees_E (After (fst c)) (to m0 c) m).
Qed.
(* visits times q-values *)
Lemma behind_table pi m b :
  behind_n 1 pi 2 (m, tt) (fun s => qn pi 2 s b) =
  is m0 m * later pi (fst b) (to m0 b) + earned pi m (fst b).
Proof.
  unfold behind_n, sumn. simpl seq. cbn [sum]. rewrite expect_start, expect_second.
  rewrite sees_E. unfold earned.
  rewrite (q_start pi 1).
  rewrite (sum_ext _ (fun c : nat * W => pi (m0, tt) c * (sees (P := E) (After (fst c), to m0 c, tt) (m, tt)
                                * qn pi 2 (After (fst c), to m0 c, tt) b))
                     (fun c : nat * W => pi (m0, tt) c * (is (to m0 c) m * r (fst c) (fst b)))).
  - ring.
  - intros c. f_equal. f_equal; [apply (sees_E (After (fst c)) (to m0 c) m)|apply q_after].
Qed.
Theorem q_table pi m b : q 2 pi (m, tt) b =
  (is m0 m * later pi (fst b) (to m0 b) + earned pi m (fst b)) / (is m0 m + came pi m).
Proof. unfold q. rewrite behind_table, visits_table. reflexivity. Qed.
Theorem value_table pi k : value_n pi (S (S k)) =
  sum choices (fun c : nat * W => pi (m0, tt) c * later pi (fst c) (to m0 c)).
Proof.
  unfold value_n. rewrite mu_E. cbn [vn]. unfold backup. simpl (terminal E _). cbv iota.
  rewrite omega_E. apply sum_ext. intros c. f_equal. apply (q_start pi k).
Qed.
(* episodes have two steps, so this is the return *)
Corollary value_of_table pi :
  is_value pi (sum choices (fun c : nat * W => pi (m0, tt) c * later pi (fst c) (to m0 c))).
Proof.
  intros e He. exists 2%nat. intros k Hk. destruct k as [|[|k]]; try lia. rewrite value_table.
  unfold R_dist. rewrite Rminus_diag_eq, Rabs_R0; auto.
Qed.
End Table.
