(* Finite POMDPs, memories, the product of Appendix A.1, values, visits, q-values and the loop. *)
From Coq Require Import Reals Lra Lia List Bool Arith.
From Remembering Require Import Sums.
Import ListNotations.
Open Scope R_scope.

(** * POMDPs, memories, policies *)

Record pomdp := Pomdp {
  state : Type; obs : Type; act : Type;
  acts : list act;                              (* A, each action once *)
  p : state -> act -> dist (state * R);         (* p(s', r | s, a) *)
  omega : state -> dist obs;                    (* omega(o | s) *)
  gamma : R;
  mu : dist state;
  terminal : state -> bool;                     (* v = 0 there, and no action is taken *)
  obs_dec : forall x y : obs, {x = y} + {x <> y};
  act_dec : forall x y : act, {x = y} + {x <> y} }.

Record is_pomdp (P : pomdp) : Prop := {
  p_dist : forall s a, terminal P s = false -> is_dist (p P s a);
  omega_dist : forall s, is_dist (omega P s);
  mu_dist : is_dist (mu P);
  gamma_range : 0 <= gamma P <= 1;
  acts_once : NoDup (acts P);
  acts_some : acts P <> [] }.

(* Definition 4.1 *)
Record memory (P : pomdp) := Memory {
  mem : Type; write : Type;
  writes : list write;
  Gamma : mem -> write -> obs P -> act P -> R -> obs P -> dist mem;   (* m, w, o, a, r, o' *)
  eta : dist mem;
  mem_dec : forall x y : mem, {x = y} + {x <> y};
  write_dec : forall x y : write, {x = y} + {x <> y} }.
Arguments mem {P}. Arguments write {P}. Arguments writes {P}. Arguments Gamma {P}.
Arguments eta {P}. Arguments mem_dec {P}. Arguments write_dec {P}.

Record is_memory {P} (m : memory P) : Prop := {
  Gamma_dist : forall x w o a r o', is_dist (Gamma m x w o a r o');
  eta_dist : is_dist (eta m);
  writes_once : NoDup (writes m);
  writes_some : writes m <> [] }.

(* the product of Appendix A.1; gamma' = gamma, which the paper leaves out *)
Definition pair_dec {T U} (d : forall x y : T, {x = y} + {x <> y})
  (e : forall x y : U, {x = y} + {x <> y}) (x y : T * U) : {x = y} + {x <> y}.
Proof. decide equality. Defined.

Definition augment (P : pomdp) (m : memory P) : pomdp :=
  Pomdp (state P * mem m * obs P) (mem m * obs P) (act P * write m)
    (list_prod (acts P) (writes m))
    (fun '(s, x, o) '(a, w) =>
       bind (p P s a) (fun '(s', r) => bind (omega P s') (fun o' =>
       bind (Gamma m x w o a r o') (fun x' => ret ((s', x', o'), r)))))
    (fun '(s, x, o) => ret (x, o))
    (gamma P)
    (bind (mu P) (fun s => bind (eta m) (fun x => bind (omega P s) (fun o => ret (s, x, o)))))
    (fun '(s, x, o) => terminal P s)
    (pair_dec (mem_dec m) (obs_dec P))
    (pair_dec (act_dec P) (write_dec m)).

Definition policy (P : pomdp) := obs P -> act P -> R.                  (* pi(a | o) *)
Definition is_policy {P} (pi : policy P) : Prop :=
  forall o, (forall a, In a (acts P) -> 0 <= pi o a) /\ sum (acts P) (pi o) = 1.
Definition uniform (P : pomdp) : policy P := fun _ _ => / INR (length (acts P)).
Definition one_hot {P} (g : obs P -> act P) : policy P :=
  fun o a => if act_dec P a (g o) then 1 else 0.
Definition mix {P} (eps : R) (pi g : policy P) : policy P :=
  fun o a => (1 - eps) * pi o a + eps * g o a.

Section Values.
Variable P : pomdp.
Implicit Types (pi : policy P) (f v : state P -> R) (s : state P) (o : obs P) (a : act P).

(* the mean over a ~ pi(. | o) *)
Definition choose pi o (f : act P -> R) : R := sum (acts P) (fun a => pi o a * f a).

(** * Values *)

(* the reward of a in s and then v: q(s, a) if v is what the states are worth *)
Definition next v s a : R := mean (p P s a) (fun y => snd y + gamma P * v (fst y)).
Definition backup pi v s : R :=
  if terminal P s then 0 else mean (omega P s) (fun o => choose pi o (next v s)).
(* what n steps are worth from s *)
Fixpoint vn pi (n : nat) : state P -> R :=
  match n with O => fun _ => 0 | S k => backup pi (vn pi k) end.
Definition qn pi n s a : R := next (vn pi n) s a.
(* the return of n steps, and of whole episodes *)
Definition value_n pi n : R := mean (mu P) (vn pi n).
Definition is_value pi (x : R) : Prop := Un_cv (value_n pi) x.
Definition is_worth pi v : Prop := forall s, Un_cv (fun n => vn pi n s) (v s).

(** * Visits *)

(* the mean of f after one step from s, if the episode goes on in s *)
Definition go pi f s : R :=
  if terminal P s then 0
  else mean (omega P s) (fun o => choose pi o (fun a => mean (p P s a) (fun y => f (fst y)))).
(* the mean of f(s_t), over episodes that have not ended before t *)
Fixpoint expect pi (t : nat) f : R :=
  match t with O => mean (mu P) f | S k => expect pi k (go pi f) end.
(* the probability that the agent sees o in s and has to act *)
Definition sees s o : R := if terminal P s then 0 else prob (obs_dec P) (omega P s) o.
(* the visits of o in the first n steps; z = 1 as they are counted, z = gamma discounted *)
Definition visits_n (z : R) pi n o : R :=
  sumn n (fun t => z ^ t * expect pi t (fun s => sees s o)).
(* the sum over visits of o of f(s) *)
Definition behind_n (z : R) pi n o f : R :=
  sumn n (fun t => z ^ t * expect pi t (fun s => sees s o * f s)).
(* q_pi(o, a) = sum_s P_pi(s | o) q_pi(s, a), over whole episodes *)
Definition is_q (z : R) pi v o a (x : R) : Prop :=
  exists d, 0 < d /\ Un_cv (fun n => visits_n z pi n o) d /\
            Un_cv (fun n => behind_n z pi n o (fun s => next v s a)) (d * x).

(** * Tasks of at most T steps, and the loop on them *)

(* every way from s has ended after n steps *)
Fixpoint ends_in (n : nat) s : Prop :=
  terminal P s = true \/
  match n with
  | O => False
  | S k => forall a y, In a (acts P) -> In y (p P s a) -> ends_in k (fst (fst y))
  end.
Definition horizon (T : nat) : Prop := forall y, In y (mu P) -> ends_in T (fst y).

Variable T : nat.
Definition visits pi o : R := visits_n 1 pi T o.
Definition q pi o a : R := behind_n 1 pi T o (fun s => qn pi T s a) / visits pi o.

(* the best of a list; among equals the first *)
Fixpoint argmax (f : act P -> R) (best : act P) (l : list (act P)) : act P :=
  match l with
  | [] => best
  | a :: k => argmax f (if Rlt_dec (f best) (f a) then a else best) k
  end.

(* greedy with a rule for ties: a list of all actions, those that win ties first *)
Definition order := (act P * list (act P))%type.
Definition is_order (l : order) : Prop := forall a, In a (acts P) <-> In a (fst l :: snd l).
Definition greedy (l : order) pi o : act P := argmax (q pi o) (fst l) (snd l).

(* one step of the loop; rows that are not visited stay as they are *)
Definition improve (l : order) (eps : R) pi : policy P :=
  fun o a => if Rlt_dec 0 (visits pi o)
             then (1 - eps) * pi o a + eps * (if act_dec P a (greedy l pi o) then 1 else 0)
             else pi o a.
Fixpoint loop (l : order) (eps : R) pi (n : nat) : policy P :=
  match n with O => pi | S k => improve l eps (loop l eps pi k) end.

(* the loop with any rule for ties, which may change from step to step and from row to row *)
Definition is_greedy pi o a : Prop :=
  In a (acts P) /\ forall b, In b (acts P) -> q pi o b <= q pi o a.
Definition is_step (eps : R) pi pi' : Prop :=
  forall o, (visits pi o <= 0 /\ forall a, pi' o a = pi o a) \/
            (0 < visits pi o /\ exists g, is_greedy pi o g /\ forall a,
               pi' o a = (1 - eps) * pi o a + eps * (if act_dec P a g then 1 else 0)).
Definition is_run (eps : R) pi (run : nat -> policy P) : Prop :=
  run 0%nat = pi /\ forall n, is_step eps (run n) (run (S n)).
End Values.
Arguments choose {P}. Arguments next {P}. Arguments backup {P}. Arguments vn {P}.
Arguments qn {P}. Arguments value_n {P}. Arguments is_value {P}. Arguments is_worth {P}.
Arguments go {P}. Arguments expect {P}. Arguments sees {P}. Arguments visits_n {P}.
Arguments behind_n {P}. Arguments is_q {P}. Arguments visits {P}. Arguments q {P}.
Arguments argmax {P}. Arguments greedy {P}. Arguments improve {P}. Arguments loop {P}.
Arguments is_greedy {P}. Arguments is_step {P}. Arguments is_run {P}.

(** * First facts *)

Section Facts.
Context {P : pomdp}.
Implicit Types (pi : policy P).

Lemma argmax_first f best (l : list (act P)) :
  (forall a, In a l -> f a <= f best) -> argmax f best l = best.
Proof.
  induction l as [|a l IH]; simpl; intros H; auto.
  destruct (Rlt_dec (f best) (f a)) as [C|C].
  - specialize (H a (or_introl eq_refl)). lra.
  - apply IH. auto.
Qed.
Lemma argmax_skip f best (l k : list (act P)) a : f best < f a ->
  (forall b, In b l -> f b < f a) -> argmax f best (l ++ a :: k) = argmax f a k.
Proof.
  revert best. induction l as [|b l IH]; simpl; intros best H L.
  - destruct (Rlt_dec (f best) (f a)); [auto|lra].
  - apply IH; auto. destruct (Rlt_dec (f best) (f b)); auto.
Qed.
(* the action that is strictly better than those before it and no worse than those after it *)
Lemma argmax_is f first rest (before after : list (act P)) a :
  first :: rest = before ++ a :: after ->
  (forall b, In b before -> f b < f a) -> (forall b, In b after -> f b <= f a) ->
  argmax f first rest = a.
Proof.
  intros E B A. destruct before as [|b before]; simpl in E; injection E as -> ->.
  - apply argmax_first; auto.
  - rewrite argmax_skip; [apply argmax_first; auto|apply B; left; auto|].
    intros c Hc; apply B; right; auto.
Qed.
Lemma argmax_best f best (l : list (act P)) :
  In (argmax f best l) (best :: l) /\ forall a, In a (best :: l) -> f a <= f (argmax f best l).
Proof.
  revert best. induction l as [|b l IH]; simpl; intros best.
  - split; [auto|]. intros a [->|[]]. lra.
  - destruct (Rlt_dec (f best) (f b)) as [C|C].
    + destruct (IH b) as [H1 H2]. split; [destruct H1; auto|].
      intros a [<-|[<-|H]]; [apply Rle_trans with (f b); [lra|]|..]; apply H2; simpl; auto.
    + destruct (IH best) as [H1 H2]. split; [destruct H1; auto|].
      intros a [<-|[<-|H]]; [|apply Rle_trans with (f best); [lra|]|]; apply H2; simpl; auto.
Qed.
(* the loop with a rule for ties is one of the runs with any rule *)
Lemma loop_is_run T l eps pi : is_order P l -> is_run T eps pi (loop T l eps pi).
Proof.
  intros O. split; auto. intros n o. simpl. unfold improve at 1 2.
  destruct (Rlt_dec 0 (visits T (loop T l eps pi n) o)) as [V|V].
  - right. split; auto. exists (greedy T l (loop T l eps pi n) o). split; auto.
    destruct (argmax_best (q T (loop T l eps pi n) o) (fst l) (snd l)) as [H1 H2].
    split; [apply O; auto|]. intros b Hb. apply H2. apply O. auto.
  - left. split; auto. lra.
Qed.

Lemma choose_ext pi o f g : (forall a, In a (acts P) -> f a = g a) -> choose pi o f = choose pi o g.
Proof. intros H. apply sum_ext_in. intros; rewrite H; auto. Qed.
Lemma choose_plus pi o f g : choose pi o (fun a => f a + g a) = choose pi o f + choose pi o g.
Proof. unfold choose. rewrite <- sum_plus. apply sum_ext; intros; ring. Qed.
Lemma choose_minus pi o f g : choose pi o (fun a => f a - g a) = choose pi o f - choose pi o g.
Proof. unfold choose. rewrite <- sum_minus. apply sum_ext; intros; ring. Qed.
Lemma choose_scal pi o c f : choose pi o (fun a => c * f a) = c * choose pi o f.
Proof. unfold choose. rewrite <- sum_scal. apply sum_ext; intros; ring. Qed.
Lemma choose_mix eps pi g o f :
  choose (mix eps pi g) o f = (1 - eps) * choose pi o f + eps * choose g o f.
Proof. unfold choose, mix. rewrite <- !sum_scal, <- sum_plus. apply sum_ext; intros; ring. Qed.
Lemma choose_const pi o c : is_policy pi -> choose pi o (fun _ => c) = c.
Proof.
  intros H. unfold choose. rewrite sum_scal_r. destruct (H o) as [_ ->]. ring.
Qed.
Lemma choose_le pi o f g : is_policy pi -> (forall a, In a (acts P) -> f a <= g a) ->
  choose pi o f <= choose pi o g.
Proof.
  intros H L. apply sum_le. intros a Ha. apply Rmult_le_compat_l; auto. apply H; auto.
Qed.
Lemma choose_one_hot g o f : NoDup (acts P) -> In (g o) (acts P) -> choose (one_hot g) o f = f (g o).
Proof.
  intros N I. unfold choose, one_hot.
  rewrite (sum_ext _ _ (fun a => if act_dec P a (g o) then f a else 0)).
  - apply (sum_if (act_dec P)); auto.
  - intros a. destruct (act_dec P a (g o)); ring.
Qed.
Lemma is_policy_one_hot (g : obs P -> act P) : NoDup (acts P) -> (forall o, In (g o) (acts P)) ->
  is_policy (one_hot g).
Proof.
  intros N I o. split.
  - intros a _. unfold one_hot. destruct (act_dec P a (g o)); lra.
  - unfold one_hot. apply (sum_if (act_dec P) (acts P) (g o) (fun _ => 1)); auto.
Qed.
Lemma is_policy_uniform : acts P <> [] -> is_policy (uniform P).
Proof.
  intros N o. unfold uniform.
  assert (0 < INR (length (acts P))) by (apply lt_0_INR; destruct (acts P); [contradiction|simpl; lia]).
  split.
  - intros a _. left. apply Rinv_0_lt_compat. auto.
  - rewrite sum_const. field. lra.
Qed.
Lemma is_policy_mix eps pi g : 0 <= eps <= 1 -> is_policy pi -> is_policy g -> is_policy (mix eps pi g).
Proof.
  intros E H G o. destruct (H o) as [H1 H2], (G o) as [G1 G2]. unfold mix. split.
  - intros a Ha. specialize (H1 a Ha). specialize (G1 a Ha).
    apply Rplus_le_le_0_compat; apply Rmult_le_pos; lra.
  - rewrite sum_plus, !sum_scal, H2, G2. ring.
Qed.

(* one step *)
Lemma go_ext pi f g s : (forall s, f s = g s) -> go pi f s = go pi g s.
Proof.
  intros H. unfold go. destruct (terminal P s); auto. apply mean_ext. intros o.
  apply choose_ext. intros a _. apply mean_ext. auto.
Qed.
Lemma go_plus pi f g s : go pi (fun s => f s + g s) s = go pi f s + go pi g s.
Proof.
  unfold go. destruct (terminal P s); [lra|]. rewrite <- mean_plus. apply mean_ext. intros o.
  rewrite <- choose_plus. apply choose_ext. intros a _. rewrite <- mean_plus. auto.
Qed.
Lemma go_scal pi c f s : go pi (fun s => c * f s) s = c * go pi f s.
Proof.
  unfold go. destruct (terminal P s); [lra|]. rewrite <- mean_scal. apply mean_ext. intros o.
  rewrite <- choose_scal. apply choose_ext. intros a _. rewrite <- mean_scal. auto.
Qed.
Lemma expect_ext pi t f g : (forall s, f s = g s) -> expect pi t f = expect pi t g.
Proof.
  revert f g. induction t; simpl; intros f g H; [apply mean_ext; auto|].
  apply IHt. intros; apply go_ext; auto.
Qed.
Lemma expect_plus pi t f g : expect pi t (fun s => f s + g s) = expect pi t f + expect pi t g.
Proof.
  revert f g. induction t; simpl; intros f g; [apply mean_plus|].
  rewrite <- IHt. apply expect_ext. intros; apply go_plus.
Qed.
Lemma expect_scal pi t c f : expect pi t (fun s => c * f s) = c * expect pi t f.
Proof.
  revert f. induction t; simpl; intros f; [apply mean_scal|].
  rewrite <- IHt. apply expect_ext. intros; apply go_scal.
Qed.
Lemma expect_minus pi t f g : expect pi t (fun s => f s - g s) = expect pi t f - expect pi t g.
Proof.
  rewrite (expect_ext pi t _ (fun s => f s + (-1) * g s)) by (intros; ring).
  rewrite expect_plus, expect_scal. ring.
Qed.
Lemma expect_zero pi t : expect pi t (fun _ => 0) = 0.
Proof.
  rewrite (expect_ext pi t _ (fun _ => 0 * 0)) by (intros; ring). rewrite expect_scal. ring.
Qed.

Hypothesis HP : is_pomdp P.
Lemma go_le pi f g s : is_policy pi -> (forall s, f s <= g s) -> go pi f s <= go pi g s.
Proof.
  intros H L. unfold go. destruct (terminal P s) eqn:E; [lra|].
  apply mean_le; [apply (omega_dist P HP)|]. intros o. apply choose_le; auto.
  intros a _. apply mean_le; [apply (p_dist P HP); auto|]. auto.
Qed.
Lemma expect_le pi t f g : is_policy pi -> (forall s, f s <= g s) -> expect pi t f <= expect pi t g.
Proof.
  intros H. revert f g. induction t; simpl; intros f g L; [apply mean_le; auto; apply HP|].
  apply IHt. intros; apply go_le; auto.
Qed.
Lemma go_const pi c s : is_policy pi -> go pi (fun _ => c) s = if terminal P s then 0 else c.
Proof.
  intros H. unfold go. destruct (terminal P s) eqn:E; auto.
  rewrite (mean_ext _ _ (fun _ => c)); [apply mean_const, HP|].
  intros o. rewrite (choose_ext _ _ _ (fun _ => c)); [apply choose_const; auto|].
  intros a _. apply mean_const. apply (p_dist P HP); auto.
Qed.
(* what a state is worth in one step more *)
Lemma backup_go pi v s : backup pi v s = backup pi (fun _ => 0) s + gamma P * go pi v s.
Proof.
  unfold backup, go, next. destruct (terminal P s); [lra|].
  rewrite <- mean_scal, <- mean_plus. apply mean_ext. intros o.
  rewrite <- choose_scal, <- choose_plus. apply choose_ext. intros a _.
  rewrite <- mean_scal, <- mean_plus. apply mean_ext. intros; ring.
Qed.
End Facts.

(** * The product is a POMDP *)

Theorem augment_is_pomdp P (m : memory P) : is_pomdp P -> is_memory m -> is_pomdp (augment P m).
Proof.
  intros H M. constructor; simpl.
  - intros [[s x] o] [a w] E. apply is_dist_bind; [apply (p_dist P H); auto|]. intros [s' r].
    apply is_dist_bind; [apply (omega_dist P H)|]. intros o'.
    apply is_dist_bind; [apply (Gamma_dist m M)|]. intros x'. apply is_dist_ret.
  - intros [[s x] o]. apply is_dist_ret.
  - apply is_dist_bind; [apply (mu_dist P H)|]. intros s.
    apply is_dist_bind; [apply (eta_dist m M)|]. intros x.
    apply is_dist_bind; [apply (omega_dist P H)|]. intros o. apply is_dist_ret.
  - apply H.
  - pose proof (acts_once P H) as A. pose proof (writes_once m M) as W.
    clear -A W. induction A as [|a l Ha A IH]; simpl; [constructor|].
    assert (forall l' : list (act P * write m), NoDup l' -> (forall w, ~ In (a, w) l') ->
            NoDup (map (fun y => (a, y)) (writes m) ++ l')) as K.
    { clear -W. intros l' N D. induction W as [|w k Hw W IH]; simpl; auto. constructor; auto.
      intros I. apply in_app_or in I as [I|I]; [|apply (D w); auto].
      apply in_map_iff in I as [w' [E I]]. injection E as ->. auto. }
    apply K; auto. intros w I. apply in_prod_iff in I as [I _]. auto.
  - pose proof (acts_some P H). pose proof (writes_some m M).
    destruct (acts P); [contradiction|]. destruct (writes m); [contradiction|]. discriminate.
Qed.
