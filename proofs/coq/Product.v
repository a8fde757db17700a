(* A1.equivalent (Appendix A.1) and S4.ignore (Section 4), for any task and any memory. *)
From Coq Require Import Reals Lra Lia List Bool Arith.
From Remembering Require Import Sums Model.
Import ListNotations.
Open Scope R_scope.

(** * Sequences of observations, actions and rewards *)

Definition is_reward (r r' : R) : R := if Req_EM_T r' r then 1 else 0.

(* in any POMDP: the probability of a_0, r_0, o_1, a_1, ... from s, when o is seen *)
Fixpoint from {P} (pi : policy P) (s : state P) (o : obs P)
  (l : list (act P * R * obs P)) : R :=
  match l with
  | [] => 1
  | (a, r, o') :: k =>
      if terminal P s then 0
      else pi o a * mean (p P s a) (fun y => is_reward r (snd y) *
             prob (obs_dec P) (omega P (fst y)) o' * from pi (fst y) o' k)
  end.
Definition sequence {P} (pi : policy P) (o : obs P) (l : list (act P * R * obs P)) : R :=
  mean (mu P) (fun s => prob (obs_dec P) (omega P s) o * from pi s o l).

(* Definition 4.2: the task and the memory as the pair that they are, side by side *)
Fixpoint pair_from {P} (m : memory P) (pi : policy (augment P m)) (s : state P) (x : mem m)
  (o : obs P) (l : list (act (augment P m) * R * obs (augment P m))) : R :=
  match l with
  | [] => 1
  | ((a, w), r, (x', o')) :: k =>
      if terminal P s then 0
      else pi (x, o) (a, w) * mean (p P s a) (fun y => is_reward r (snd y) *
             (prob (obs_dec P) (omega P (fst y)) o' *
              prob (mem_dec m) (Gamma m x w o a (snd y) o') x' * pair_from m pi (fst y) x' o' k))
  end.
Definition pair_sequence {P} (m : memory P) (pi : policy (augment P m)) (x : mem m) (o : obs P)
  (l : list (act (augment P m) * R * obs (augment P m))) : R :=
  mean (mu P) (fun s => prob (obs_dec P) (omega P s) o * prob (mem_dec m) (eta m) x *
                        pair_from m pi s x o l).

(* only (x', o') itself contributes *)
Lemma mean_seen {P} (m : memory P) (x' : mem m) (o' : obs P) (c : mem m -> obs P -> R) x o :
  prob (pair_dec (mem_dec m) (obs_dec P)) (ret (x, o)) (x', o') * c x o
  = (if mem_dec m x x' then 1 else 0) * (if obs_dec P o o' then 1 else 0) * c x' o'.
Proof.
  rewrite prob_ret. destruct (pair_dec _ _ (x, o) (x', o')) as [E|N].
  - injection E as -> ->. destruct (mem_dec m x' x'), (obs_dec P o' o'); try contradiction. ring.
  - destruct (mem_dec m x x'), (obs_dec P o o'); subst; try contradiction; ring.
Qed.

Lemma from_pair {P} (m : memory P) (pi : policy (augment P m)) l : forall s x o,
  from pi (s, x, o) (x, o) l = pair_from m pi s x o l.
Proof.
  induction l as [|[[[a w] r] [x' o']] l IH]; intros s x o; [reflexivity|].
  cbn [from pair_from]. change (terminal (augment P m) (s, x, o)) with (terminal P s).
  destruct (terminal P s); auto. f_equal.
  change (p (augment P m) (s, x, o) (a, w)) with
    (bind (p P s a) (fun '(s', r) => bind (omega P s') (fun o' =>
       bind (Gamma m x w o a r o') (fun x' => ret ((s', x', o'), r))))).
  rewrite mean_bind. apply mean_ext. intros [s' r'].
  rewrite mean_bind. cbn [fst snd].
  rewrite (mean_ext _ _ (fun o1 => (if obs_dec P o1 o' then 1 else 0) *
     (is_reward r r' * prob (mem_dec m) (Gamma m x w o a r' o') x' * pair_from m pi s' x' o' l))).
  { rewrite mean_scal_r. fold (prob (obs_dec P) (omega P s') o'). ring. }
  intros o1. rewrite mean_bind.
  rewrite (mean_ext _ _ (fun x1 => (if mem_dec m x1 x' then 1 else 0) *
     ((if obs_dec P o1 o' then 1 else 0) * (is_reward r r' * pair_from m pi s' x' o' l)))).
  { rewrite mean_scal_r. fold (prob (mem_dec m) (Gamma m x w o a r' o1) x').
    destruct (obs_dec P o1 o') as [->|]; ring. }
  intros x1. rewrite mean_ret. cbn [fst snd].
  change (omega (augment P m) (s', x1, o1)) with (ret (x1, o1)).
  change (obs_dec (augment P m)) with (pair_dec (mem_dec m) (obs_dec P)).
  rewrite Rmult_assoc.
  assert (E : prob (pair_dec (mem_dec m) (obs_dec P)) (ret (x1, o1)) (x', o')
              * from pi (s', x1, o1) (x', o') l
    = (if mem_dec m x1 x' then 1 else 0) * (if obs_dec P o1 o' then 1 else 0)
      * from pi (s', x', o') (x', o') l)
    by apply (mean_seen m x' o' (fun x o => from pi (s', x, o) (x', o') l)).
  etransitivity; [apply f_equal; exact E|]. rewrite IH. ring.
Qed.

(* A1.equivalent: every sequence has the same probability in the product and in the pair *)
Theorem compiled_is_equivalent P (m : memory P) (pi : policy (augment P m)) x o l :
  sequence pi (x, o) l = pair_sequence m pi x o l.
Proof.
  unfold sequence, pair_sequence.
  change (mu (augment P m)) with
    (bind (mu P) (fun s => bind (eta m) (fun x => bind (omega P s) (fun o => ret (s, x, o))))).
  rewrite mean_bind. apply mean_ext. intros s. rewrite mean_bind.
  rewrite (mean_ext _ _ (fun x1 => (if mem_dec m x1 x then 1 else 0) *
     (prob (obs_dec P) (omega P s) o * pair_from m pi s x o l))).
  { rewrite mean_scal_r. fold (prob (mem_dec m) (eta m) x). ring. }
  intros x1. rewrite mean_bind.
  rewrite (mean_ext _ _ (fun o1 => (if obs_dec P o1 o then 1 else 0) *
     ((if mem_dec m x1 x then 1 else 0) * pair_from m pi s x o l))).
  { rewrite mean_scal_r. fold (prob (obs_dec P) (omega P s) o). ring. }
  intros o1. rewrite mean_ret.
  change (omega (augment P m) (s, x1, o1)) with (ret (x1, o1)).
  change (obs_dec (augment P m)) with (pair_dec (mem_dec m) (obs_dec P)).
  etransitivity;
    [apply (mean_seen m x o (fun x2 o2 => from pi (s, x2, o2) (x, o) l))|].
  rewrite from_pair. ring.
Qed.
(* and returns are discounted alike *)
Theorem compiled_gamma P (m : memory P) : gamma (augment P m) = gamma P.
Proof. reflexivity. Qed.

(** * A memory can be ignored *)

(* act as pi, and write by any rule nu(w | x, o, a) *)
Definition ignoring {P} (m : memory P) (pi : policy P)
  (nu : mem m -> obs P -> act P -> write m -> R) : policy (augment P m) :=
  fun y b => pi (snd y) (fst b) * nu (fst y) (snd y) (fst b) (snd b).
Definition is_rule {P} (m : memory P) (nu : mem m -> obs P -> act P -> write m -> R) : Prop :=
  forall x o a, (forall w, In w (writes m) -> 0 <= nu x o a w) /\ sum (writes m) (nu x o a) = 1.

Section Ignore.
Variables (P : pomdp) (m : memory P).
Hypothesis HP : is_pomdp P.
Hypothesis HM : is_memory m.
Variables (pi : policy P) (nu : mem m -> obs P -> act P -> write m -> R).
Hypothesis Hnu : is_rule m nu.
Let E := augment P m.
Let pi' : policy E := ignoring m pi nu.

Lemma choose_ignoring y (f : act P -> R) :
  choose (P := E) pi' y (fun b => f (fst b)) = choose pi (snd y) f.
Proof.
  unfold choose. etransitivity; [apply (sum_list_prod (acts P) (writes m))|].
  apply sum_ext. intros a. unfold pi', ignoring. cbn [fst snd].
  rewrite (sum_ext _ _ (fun w => (pi (snd y) a * f a) * nu (fst y) (snd y) a w)) by (intros; ring).
  rewrite sum_scal. destruct (Hnu (fst y) (snd y) a) as [_ ->]. ring.
Qed.

(* n steps from (s, x, o) are worth what they are worth from s when o is seen *)
Lemma vn_ignoring n : forall s x o, vn (P := E) pi' n (s, x, o) =
  match n with O => 0 | S k => if terminal P s then 0 else choose pi o (qn pi k s) end.
Proof.
  induction n as [|n IH]; intros s x o; [reflexivity|].
  cbn [vn]. unfold backup. change (terminal E (s, x, o)) with (terminal P s).
  destruct (terminal P s); auto. change (omega E (s, x, o)) with (ret (x, o)). rewrite mean_ret.
  rewrite <- (choose_ignoring (x, o)). apply choose_ext. intros [a w] _. cbn [fst].
  unfold next, qn, next. change (gamma E) with (gamma P).
  change (p E (s, x, o) (a, w)) with
    (bind (p P s a) (fun '(s', r) => bind (omega P s') (fun o' =>
       bind (Gamma m x w o a r o') (fun x' => ret ((s', x', o'), r))))).
  rewrite mean_bind. apply mean_ext. intros [s' r]. rewrite mean_bind. cbn [fst snd].
  rewrite (mean_ext _ _ (fun o' => r + gamma P * match n with O => 0
     | S k => if terminal P s' then 0 else choose pi o' (qn pi k s') end)).
  - rewrite mean_plus, mean_scal, mean_const by apply (omega_dist P HP). f_equal. f_equal.
    destruct n; cbn [vn]; [apply mean_zero|]. unfold backup.
    destruct (terminal P s'); [apply mean_zero|reflexivity].
  - intros o'. rewrite mean_bind.
    rewrite (mean_ext _ _ (fun _ => r + gamma P * match n with O => 0
     | S k => if terminal P s' then 0 else choose pi o' (qn pi k s') end)).
    + apply mean_const. apply (Gamma_dist m HM).
    + intros x'. rewrite mean_ret. cbn [fst snd]. rewrite IH. auto.
Qed.

(* S4.ignore, the step: the policy that ignores its memory is worth the same, for every n *)
Theorem ignoring_is_worth_the_same n : value_n (P := E) pi' n = value_n pi n.
Proof.
  unfold value_n.
  change (mu E) with
    (bind (mu P) (fun s => bind (eta m) (fun x => bind (omega P s) (fun o => ret (s, x, o))))).
  rewrite mean_bind. apply mean_ext. intros s. rewrite mean_bind.
  rewrite (mean_ext _ _ (fun _ => vn pi n s)); [apply mean_const, HM|].
  intros x. rewrite mean_bind.
  rewrite (mean_ext _ _ (fun o => match n with O => 0
     | S k => if terminal P s then 0 else choose pi o (qn pi k s) end)).
  - destruct n; cbn [vn]; [apply mean_zero|]. unfold backup.
    destruct (terminal P s); [apply mean_zero|reflexivity].
  - intros o. rewrite mean_ret. apply vn_ignoring.
Qed.
Lemma ignoring_is_policy : is_policy pi -> is_policy (P := E) pi'.
Proof.
  intros H y. split.
  - intros [a w] I. apply in_prod_iff in I as [Ia Iw]. unfold pi', ignoring. cbn [fst snd].
    apply Rmult_le_pos; [apply H|apply Hnu]; auto.
  - pose proof (choose_ignoring y (fun _ => 1)) as C.
    rewrite choose_const in C by auto. unfold choose in C. rewrite <- C.
    apply sum_ext. intros; ring.
Qed.
End Ignore.

(* S4.ignore: whatever bounds the returns of the policies of the augmented task bounds those of the
   original one, over n steps and over whole episodes; so the best is at least as good *)
Theorem memory_never_hurts_the_best P (m : memory P) n best : is_pomdp P -> is_memory m ->
  (forall pi, is_policy pi -> value_n (P := augment P m) pi n <= best) ->
  forall pi, is_policy pi -> value_n (P := P) pi n <= best.
Proof.
  intros HP HM H pi Hpi. pose proof (writes_some m HM) as S.
  set (nu := fun (_ : mem m) (_ : obs P) (_ : act P) (_ : write m) => / INR (length (writes m))).
  assert (is_rule m nu) as N.
  { assert (0 < INR (length (writes m))) by (apply lt_0_INR; destruct (writes m); [contradiction|simpl; lia]).
    intros x o a. split; unfold nu; [intros; left; apply Rinv_0_lt_compat; auto|].
    rewrite sum_const. field. lra. }
  rewrite <- (ignoring_is_worth_the_same P m HP HM pi nu N n). apply H.
  apply ignoring_is_policy; auto.
Qed.
Theorem memory_never_hurts_the_best_value P (m : memory P) best : is_pomdp P -> is_memory m ->
  (forall pi x, is_policy pi -> is_value (P := augment P m) pi x -> x <= best) ->
  forall pi x, is_policy pi -> is_value (P := P) pi x -> x <= best.
Proof.
  intros HP HM H pi x Hpi Hx. pose proof (writes_some m HM) as S.
  set (nu := fun (_ : mem m) (_ : obs P) (_ : act P) (_ : write m) => / INR (length (writes m))).
  assert (is_rule m nu) as N.
  { assert (0 < INR (length (writes m))) by (apply lt_0_INR; destruct (writes m); [contradiction|simpl; lia]).
    intros y o a. split; unfold nu; [intros; left; apply Rinv_0_lt_compat; auto|].
    rewrite sum_const. field. lra. }
  apply (H (ignoring m pi nu)); [apply ignoring_is_policy; auto|].
  intros e He. destruct (Hx e He) as [k Hk]. exists k. intros j Hj.
  rewrite (ignoring_is_worth_the_same P m HP HM pi nu N j). auto.
Qed.
(* among deterministic policies as well: act as g does, and always write w *)
Theorem ignoring_deterministically P (m : memory P) (g : obs P -> act P) w n :
  is_pomdp P -> is_memory m -> (forall o, In (g o) (acts P)) -> In w (writes m) ->
  value_n (P := augment P m) (one_hot (P := augment P m) (fun y => (g (snd y), w))) n
  = value_n (one_hot g) n.
Proof.
  intros HP HM G W.
  set (nu := fun (_ : mem m) (_ : obs P) (_ : act P) (v : write m) =>
               if write_dec m v w then 1 else 0).
  assert (is_rule m nu) as N.
  { intros y o a. split; unfold nu; [intros v _; destruct (write_dec m v w); lra|].
    apply (sum_if (write_dec m) _ w (fun _ => 1)); auto. apply HM. }
  rewrite <- (ignoring_is_worth_the_same P m HP HM (one_hot g) nu N n).
  assert (forall (pi pi' : policy (augment P m)), (forall y b, pi y b = pi' y b) ->
            value_n pi n = value_n pi' n) as X.
  { intros pi pi' E. unfold value_n. apply mean_ext.
    induction n as [|n IH]; intros s; [reflexivity|]. cbn [vn]. unfold backup.
    destruct (terminal _ s); auto. apply mean_ext. intros y. unfold choose. apply sum_ext.
    intros b. rewrite E. f_equal. unfold next. apply mean_ext. intros z. rewrite IH. auto. }
  apply X. intros [x o] [a v]. unfold one_hot, ignoring, nu. cbn [fst snd].
  destruct (act_dec (augment P m) (a, v) (g o, w)) as [E|E].
  - injection E as -> ->. destruct (act_dec P (g o) (g o)), (write_dec m w w); try contradiction. ring.
  - destruct (act_dec P a (g o)), (write_dec m v w); subst; try ring. contradiction.
Qed.
