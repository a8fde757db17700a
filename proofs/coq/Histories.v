(* T.push: buffers that must push are never stuck if they hold the whole history. *)
From Coq Require Import Reals Lra Lia List Bool Arith.
From Remembering Require Import Sums Model TwoSteps Improvement.
Import ListNotations.
Open Scope R_scope.

(** * Histories, and memories that hold them *)

(* the pairs (o, a) of a history, the newest first; with the observation that follows it is a history *)
Definition pairs (P : pomdp) := list (obs P * act P).
Definition pairs_dec (P : pomdp) : forall x y : pairs P, {x = y} + {x <> y} :=
  list_eq_dec (pair_dec (obs_dec P) (act_dec P)).
(* a memory that pushes every pair and drops none: its policies are the history-based ones *)
Definition everything (P : pomdp) : memory P :=
  det (pairs P) hold [Push] (fun l _ o a => (o, a) :: l) [] (pairs_dec P) hold_dec.
(* window(k): k cells, the oldest first, all empty at first; every pair is pushed, the oldest dropped *)
Definition window (P : pomdp) (k : nat) : memory P :=
  det (list (option (obs P * act P))) hold [Push] (fun m _ o a => tl (m ++ [Some (o, a)]))
    (repeat None k) (list_eq_dec (option_dec (pair_dec (obs_dec P) (act_dec P)))) hold_dec.

(* the best value of a policy that may read the whole history *)
Definition is_best_history (P : pomdp) (T : nat) (best : R) : Prop :=
  (forall rho : policy (augment P (everything P)), is_policy rho -> value_n rho T <= best) /\
  exists rho : policy (augment P (everything P)), is_policy rho /\ value_n rho T = best.

(** * Coins *)

(* how many of i coins of chance eps show heads *)
Fixpoint heads (eps : R) (i : nat) : dist nat :=
  match i with
  | O => ret 0%nat
  | S k => bind (heads eps k) (fun n => [(S n, eps); (n, 1 - eps)])
  end.
(* the chance that fewer than j do *)
Definition few_heads (eps : R) (i j : nat) : R :=
  mean (heads eps i) (fun n => if Nat.ltb n j then 1 else 0).

Section Coins.
Variable eps : R.
Hypothesis He : 0 <= eps <= 1.
Lemma heads_dist i : is_dist (heads eps i).
Proof.
  induction i as [|i IH]; simpl; [apply is_dist_ret|]. apply is_dist_bind; auto. intros n. split.
  - intros y [<-|[<-|[]]]; simpl; lra.
  - unfold mean. simpl. ring.
Qed.
Lemma few_range i j : 0 <= few_heads eps i j <= 1.
Proof.
  pose proof (heads_dist i) as H. unfold few_heads. split.
  - apply Rle_trans with (mean (heads eps i) (fun _ => 0)); [rewrite mean_zero; lra|].
    apply mean_le; auto. intros n. destruct (Nat.ltb n j); lra.
  - apply Rle_trans with (mean (heads eps i) (fun _ => 1)); [|rewrite mean_const; auto; lra].
    apply mean_le; auto. intros n. destruct (Nat.ltb n j); lra.
Qed.
Lemma few_none i : few_heads eps i 0 = 0.
Proof.
  unfold few_heads. transitivity (mean (heads eps i) (fun _ => 0)); [apply mean_ext; auto|apply mean_zero].
Qed.
Lemma few_first j : few_heads eps 0 (S j) = 1.
Proof. unfold few_heads. simpl. rewrite mean_ret. auto. Qed.
(* by the last coin *)
Lemma few_next i j :
  few_heads eps (S i) (S j) = (1 - eps) * few_heads eps i (S j) + eps * few_heads eps i j.
Proof.
  unfold few_heads. simpl heads. rewrite mean_bind, <- !mean_scal, <- mean_plus. apply mean_ext.
  intros n. unfold mean. cbn [sum fst snd]. change (Nat.ltb (S n) (S j)) with (Nat.ltb n j). ring.
Qed.
Lemma few_rare i : forall j, INR i * eps * few_heads eps i j <= INR j.
Proof.
  induction i as [|i IH]; intros j; [simpl; rewrite Rmult_0_l, Rmult_0_l; apply pos_INR|].
  destruct j as [|j]; [rewrite few_none; simpl; lra|].
  pose proof (few_range (S i) (S j)) as F. rewrite (S_INR i).
  replace ((INR i + 1) * eps * few_heads eps (S i) (S j))
    with (INR i * eps * few_heads eps (S i) (S j) + eps * few_heads eps (S i) (S j)) by ring.
  rewrite few_next at 1.
  replace (INR i * eps * ((1 - eps) * few_heads eps i (S j) + eps * few_heads eps i j))
    with ((1 - eps) * (INR i * eps * few_heads eps i (S j)) + eps * (INR i * eps * few_heads eps i j)) by ring.
  pose proof (IH (S j)) as A. pose proof (IH j) as B. rewrite (S_INR j) in *.
  assert ((1 - eps) * (INR i * eps * few_heads eps i (S j)) <= (1 - eps) * (INR j + 1)) by (apply Rmult_le_compat_l; lra).
  assert (eps * (INR i * eps * few_heads eps i j) <= eps * INR j) by (apply Rmult_le_compat_l; lra).
  assert (eps * few_heads eps (S i) (S j) <= eps * 1) by (apply Rmult_le_compat_l; lra).
  lra.
Qed.
End Coins.

(** * The tree of histories *)

Section Tree.
Variable P : pomdp.
Hypothesis HP : is_pomdp P.
Implicit Types (l k : pairs P) (o : obs P) (a : act P) (s : state P).

(* the states before the next observation, with the chance of s and of the observations of l, given
   its actions *)
Fixpoint behind l : dist (state P) :=
  match l with
  | [] => mu P
  | (o, a) :: k => flat_map (fun y : state P * R => if terminal P (fst y) then [] else
      map (fun z : state P * R * R => (fst (fst z), snd y * prob (obs_dec P) (omega P (fst y)) o * snd z))
        (p P (fst y) a)) (behind k)
  end.
Lemma behind_cons l o a f :
  mean (behind ((o, a) :: l)) f = mean (behind l) (fun s => sees s o * mean (p P s a) (fun y => f (fst y))).
Proof.
  unfold mean at 1 2. simpl behind. rewrite sum_flat_map. apply sum_ext. intros y. unfold sees.
  destruct (terminal P (fst y)); [simpl; ring|]. rewrite sum_map. unfold mean. rewrite <- !sum_scal.
  apply sum_ext. intros z. simpl. ring.
Qed.
Lemma sees_nonneg s o : 0 <= sees s o.
Proof. unfold sees. destruct (terminal P s); [lra|]. apply prob_nonneg. apply (omega_dist P HP). Qed.
Lemma behind_nonneg l : forall y, In y (behind l) -> 0 <= snd y.
Proof.
  induction l as [|[o a] l IH]; simpl; intros y Hy; [apply (mu_dist P HP); auto|].
  apply in_flat_map in Hy as (x & Hx & Hy). destruct (terminal P (fst x)) eqn:E; [contradiction|].
  apply in_map_iff in Hy as (z & <- & Hz). simpl. repeat apply Rmult_le_pos; auto.
  - apply prob_nonneg. apply (omega_dist P HP).
  - apply (p_dist P HP (fst x) a); auto.
Qed.
Lemma behind_le l f g : (forall y, In y (behind l) -> f (fst y) <= g (fst y)) ->
  mean (behind l) f <= mean (behind l) g.
Proof. intros H. apply sum_le. intros y Hy. apply Rmult_le_compat_l; auto. apply (behind_nonneg l); auto. Qed.

(* the chance of the history, given its actions; the observations that may come next *)
Definition chance l o : R := mean (behind l) (fun s => sees s o).
Definition rows l : list (obs P) :=
  nodup (obs_dec P) (flat_map (fun y : state P * R => map fst (omega P (fst y))) (behind l)).
Lemma chance_nonneg l o : 0 <= chance l o.
Proof.
  unfold chance. rewrite <- (mean_zero (behind l)). apply behind_le. intros; apply sees_nonneg.
Qed.
Lemma by_rows l (g : state P -> obs P -> R) :
  mean (behind l) (fun s => if terminal P s then 0 else mean (omega P s) (g s))
  = sum (rows l) (fun o => mean (behind l) (fun s => sees s o * g s o)).
Proof.
  rewrite <- mean_sum. apply mean_ext_in. intros y Hy. unfold sees.
  destruct (terminal P (fst y)); [symmetry; apply sum_zero; intros; ring|].
  apply mean_prob; [apply NoDup_nodup|]. intros z Hz. apply nodup_In, in_flat_map.
  exists y. split; auto. apply in_map; auto.
Qed.
(* what cannot be met counts for nothing *)
Lemma no_chance l o f : chance l o = 0 -> mean (behind l) (fun s => sees s o * f s) = 0.
Proof.
  intros H. apply sum_zero. intros y Hy.
  assert (X : forall y, In y (behind l) -> 0 <= snd y * sees (fst y) o).
  { intros z Hz. apply Rmult_le_pos; [apply (behind_nonneg l); auto|apply sees_nonneg]. }
  pose proof (sum_pos_term (behind l) (fun y => snd y * sees (fst y) o) y X Hy) as L.
  unfold chance, mean in H. rewrite H in L. simpl in L. specialize (X y Hy).
  rewrite <- Rmult_assoc. replace (snd y * sees (fst y) o) with 0 by lra. ring.
Qed.
Lemma chance_next l o a : sum (rows ((o, a) :: l)) (chance ((o, a) :: l)) <= chance l o.
Proof.
  rewrite (sum_ext _ _ (fun o' => mean (behind ((o, a) :: l)) (fun s => sees s o' * 1))).
  2:{ intros o'. apply mean_ext. intros; ring. }
  rewrite <- (by_rows ((o, a) :: l) (fun _ _ => 1)), behind_cons. apply behind_le. intros y _.
  rewrite <- (Rmult_1_r (sees (fst y) o)) at 2. unfold sees.
  destruct (terminal P (fst y)) eqn:E; [lra|].
  apply Rmult_le_compat_l; [apply prob_nonneg, (omega_dist P HP)|].
  apply Rle_trans with (mean (p P (fst y) a) (fun _ => 1)); [|rewrite mean_const; [lra|apply (p_dist P HP); auto]].
  apply mean_le; [apply (p_dist P HP); auto|]. intros [s r]. simpl.
  destruct (terminal P s); [lra|]. rewrite mean_const; [lra|apply (omega_dist P HP)].
Qed.
Lemma no_chance_next l o a o' : chance l o = 0 -> chance ((o, a) :: l) o' = 0.
Proof. intros H. unfold chance. rewrite behind_cons. apply no_chance; auto. Qed.

(* what is due after l, o, a if V says what later histories are worth; all of it times the chance *)
Definition pays l o a : R := mean (behind l) (fun s => sees s o * mean (p P s a) snd).
Definition due (V : pairs P -> obs P -> R) l o a : R :=
  pays l o a + gamma P * sum (rows ((o, a) :: l)) (V ((o, a) :: l)).
(* what n steps of h are worth after l, o *)
Definition plan := pairs P -> obs P -> act P -> R.
Fixpoint worth (h : plan) (n : nat) l o : R :=
  match n with O => 0 | S k => sum (acts P) (fun a => h l o a * due (worth h k) l o a) end.
Definition is_plan (h : plan) : Prop :=
  forall l o, (forall a, In a (acts P) -> 0 <= h l o a) /\ sum (acts P) (h l o) = 1.

Lemma due_zero V l o a : chance l o = 0 -> (forall o', V ((o, a) :: l) o' = 0) -> due V l o a = 0.
Proof.
  intros H Z. unfold due, pays. rewrite no_chance by auto. rewrite sum_zero; auto. ring.
Qed.
Lemma worth_zero h n : forall l o, chance l o = 0 -> worth h n l o = 0.
Proof.
  induction n as [|n IH]; intros l o H; simpl; auto. apply sum_zero. intros a _.
  rewrite due_zero; auto; [ring|]. intros o'. apply IH, no_chance_next; auto.
Qed.
Lemma due_le V W l o a : (forall o', V ((o, a) :: l) o' <= W ((o, a) :: l) o') -> due V l o a <= due W l o a.
Proof.
  intros H. unfold due. apply Rplus_le_compat_l. apply Rmult_le_compat_l; [apply HP|].
  apply sum_le. auto.
Qed.
Lemma due_minus V W D l o a : 0 <= D ->
  (forall o', V ((o, a) :: l) o' - W ((o, a) :: l) o' <= D * chance ((o, a) :: l) o') ->
  due V l o a <= due W l o a + D * chance l o.
Proof.
  intros HD H. unfold due.
  assert (S1 : sum (rows ((o, a) :: l)) (V ((o, a) :: l)) <=
    sum (rows ((o, a) :: l)) (W ((o, a) :: l)) + D * sum (rows ((o, a) :: l)) (chance ((o, a) :: l))).
  { rewrite <- sum_scal, <- sum_plus. apply sum_le. intros o' _. specialize (H o'). lra. }
  pose proof (chance_next l o a) as N. pose proof (gamma_range P HP) as G.
  assert (S0 : 0 <= sum (rows ((o, a) :: l)) (chance ((o, a) :: l))) by (apply sum_nonneg; intros; apply chance_nonneg).
  apply (Rmult_le_compat_l (gamma P)) in S1; [|lra].
  assert (gamma P * (D * sum (rows ((o, a) :: l)) (chance ((o, a) :: l))) <= 1 * (D * chance l o)).
  { apply Rmult_le_compat; try lra; [apply Rmult_le_pos; auto|]. apply Rmult_le_compat_l; auto. }
  lra.
Qed.
Lemma sum_plan_const (h : plan) l o c : is_plan h -> sum (acts P) (fun a => h l o a * c) = c.
Proof. intros H. rewrite sum_scal_r. destruct (H l o) as [_ ->]. ring. Qed.

(** ** One step towards greedy *)

Variable N : nat.
(* histories that can be met within N + 1 steps *)
Definition ok l : Prop := forall y, In y l -> In (snd y) (acts P).
Section Step.
Variables (eps : R) (h h' : plan).
Hypothesis He : 0 <= eps <= 1.
Hypothesis Hh : is_plan h.
Hypothesis Hh' : is_plan h'.
Hypothesis toward : forall n l o, (n + length l = N)%nat -> ok l -> chance l o = 0 \/
  exists g, In g (acts P) /\ (forall a, In a (acts P) -> due (worth h n) l o a <= due (worth h n) l o g) /\
    forall a, h' l o a = (1 - eps) * h l o a + eps * (if act_dec P a g then 1 else 0).

Lemma step_sum (f : act P -> R) l o g : In g (acts P) ->
  (forall a, h' l o a = (1 - eps) * h l o a + eps * (if act_dec P a g then 1 else 0)) ->
  sum (acts P) (fun a => h' l o a * f a) = (1 - eps) * sum (acts P) (fun a => h l o a * f a) + eps * f g.
Proof.
  intros Hg T. rewrite (sum_ext _ _ (fun a => (1 - eps) * (h l o a * f a) +
    eps * (if act_dec P a g then f a else 0))).
  - rewrite sum_plus, !sum_scal, (sum_if (act_dec P)); auto. apply HP.
  - intros a. rewrite T. destruct (act_dec P a g); ring.
Qed.
Lemma ok_cons l o a : ok l -> In a (acts P) -> ok ((o, a) :: l).
Proof. intros K A y [<-|Hy]; auto. Qed.
Lemma at_most_greedy (r : plan) n l o g : is_plan r ->
  (forall a, In a (acts P) -> due (worth h n) l o a <= due (worth h n) l o g) ->
  sum (acts P) (fun a => r l o a * due (worth h n) l o a) <= due (worth h n) l o g.
Proof.
  intros Hr G. rewrite <- (sum_plan_const r l o (due (worth h n) l o g)) by auto.
  apply sum_le. intros a Ha. apply Rmult_le_compat_l; auto. apply Hr; auto.
Qed.
(* no history loses *)
Lemma grows n : forall l o, (n + length l = S N)%nat -> ok l -> worth h n l o <= worth h' n l o.
Proof.
  induction n as [|n IH]; intros l o L K; [simpl; lra|]. simpl.
  apply Rle_trans with (sum (acts P) (fun a => h' l o a * due (worth h n) l o a)).
  2:{ apply sum_le. intros a Ha. apply Rmult_le_compat_l; [apply Hh'; auto|].
      apply due_le. intros o'. apply IH; [simpl in *; lia|apply ok_cons; auto]. }
  destruct (toward n l o ltac:(lia) K) as [Z|(g & Hg & G & T)].
  - rewrite !sum_zero; [lra|..]; intros a _; rewrite due_zero; try ring; auto;
      intros o'; apply worth_zero, no_chance_next; auto.
  - rewrite (step_sum _ l o g Hg T). pose proof (at_most_greedy h n l o g Hh G) as M.
    assert (eps * sum (acts P) (fun a => h l o a * due (worth h n) l o a) <= eps * due (worth h n) l o g)
      by (apply Rmult_le_compat_l; lra). lra.
Qed.
(* V - v' <= (1 - eps) D(j+1) + eps D(j) *)
Lemma closer (r : plan) D D1 n l o : is_plan r -> 0 <= D -> (S n + length l = S N)%nat -> ok l ->
  (forall k o', (n + length k = S N)%nat -> ok k -> worth r n k o' - worth h n k o' <= D * chance k o') ->
  worth r (S n) l o - worth h (S n) l o <= D1 * chance l o ->
  worth r (S n) l o - worth h' (S n) l o <= ((1 - eps) * D1 + eps * D) * chance l o.
Proof.
  intros Hr HD L K H0 H1.
  destruct (toward n l o ltac:(lia) K) as [Z|(g & Hg & G & T)].
  { rewrite !worth_zero by auto. rewrite Z. lra. }
  assert (A : (1 - eps) * worth h (S n) l o + eps * due (worth h n) l o g <= worth h' (S n) l o).
  { change (worth h (S n) l o) with (sum (acts P) (fun a => h l o a * due (worth h n) l o a)).
    rewrite <- (step_sum _ l o g Hg T). simpl. apply sum_le. intros a Ha.
    apply Rmult_le_compat_l; [apply Hh'; auto|]. apply due_le. intros o'.
    apply grows; [simpl in *; lia|apply ok_cons; auto]. }
  assert (B : worth r (S n) l o <= due (worth h n) l o g + D * chance l o).
  { simpl. rewrite <- (sum_plan_const r l o (due (worth h n) l o g + D * chance l o)) by auto.
    apply sum_le. intros a Ha. apply Rmult_le_compat_l; [apply Hr; auto|].
    apply Rle_trans with (due (worth h n) l o a + D * chance l o); [|specialize (G a Ha); lra].
    apply due_minus; auto. intros o'. apply H0; [simpl in *; lia|apply ok_cons; auto]. }
  assert ((1 - eps) * (worth r (S n) l o - worth h (S n) l o) <= (1 - eps) * (D1 * chance l o))
    by (apply Rmult_le_compat_l; lra).
  assert (eps * worth r (S n) l o <= eps * (due (worth h n) l o g + D * chance l o))
    by (apply Rmult_le_compat_l; lra).
  lra.
Qed.
End Step.

(** ** The best plan *)

Fixpoint top (n : nat) l o : R :=
  match n with
  | O => 0
  | S k => match acts P with
           | [] => 0
           | b :: rest => due (top k) l o (argmax (due (top k) l o) b rest)
           end
  end.
Definition best_act (n : nat) l o (b : act P) : act P := argmax (due (top n) l o) b (acts P).
Lemma top_is n l o b : In b (acts P) -> top (S n) l o = due (top n) l o (best_act n l o b) /\
  In (best_act n l o b) (acts P) /\ forall a, In a (acts P) -> due (top n) l o a <= top (S n) l o.
Proof.
  intros Hb. unfold best_act. simpl.
  destruct (argmax_best (due (top n) l o) b (acts P)) as [I1 M1].
  assert (In (argmax (due (top n) l o) b (acts P)) (acts P)) by (destruct I1 as [<-|]; auto).
  destruct (acts P) as [|c rest] eqn:E; [contradiction|].
  destruct (argmax_best (due (top n) l o) c rest) as [I2 M2].
  split; [|split; auto]. apply Rle_antisym; [apply M1; right|apply M2]; auto.
Qed.
Lemma top_most h n : is_plan h -> forall l o, worth h n l o <= top n l o.
Proof.
  intros Hh. induction n as [|n IH]; intros l o; [simpl; lra|].
  pose proof (acts_some P HP) as A. destruct (acts P) as [|b rest] eqn:E; [contradiction|].
  assert (Hb : In b (acts P)) by (rewrite E; left; auto).
  destruct (top_is n l o b Hb) as (_ & _ & M). simpl worth.
  rewrite <- (sum_plan_const h l o (top (S n) l o)) by auto. apply sum_le. intros a Ha.
  apply Rmult_le_compat_l; [apply Hh; auto|].
  apply Rle_trans with (2 := M a Ha). apply due_le. intros; apply IH.
Qed.
Definition best_plan (b : act P) : plan := fun l o a =>
  if act_dec P a (best_act (N - length l) l o b) then 1 else 0.
Lemma best_plan_is b : In b (acts P) -> is_plan (best_plan b).
Proof.
  intros Hb l o. destruct (top_is (N - length l) l o b Hb) as (_ & I & _). split.
  - intros a _. unfold best_plan. destruct (act_dec P a _); lra.
  - unfold best_plan. apply (sum_if (act_dec P) (acts P) _ (fun _ => 1)); auto. apply HP.
Qed.
Lemma best_plan_top b n : In b (acts P) -> forall l o, (n + length l = S N)%nat ->
  worth (best_plan b) n l o = top n l o.
Proof.
  intros Hb. induction n as [|n IH]; intros l o L; auto.
  destruct (top_is n l o b Hb) as (E & I & _). rewrite E. simpl worth.
  rewrite (sum_ext _ _ (fun a => if act_dec P a (best_act n l o b) then due (top n) l o a else 0)).
  - apply (sum_if (act_dec P)); auto. apply HP.
  - intros a. unfold best_plan. replace (N - length l)%nat with n by lia.
    destruct (act_dec P a _) as [|]; [|ring]. rewrite Rmult_1_l. unfold due. do 2 f_equal.
    apply sum_ext. intros o'. apply IH. simpl. lia.
Qed.

(** ** Rewards are bounded *)

Fixpoint met (t : nat) : list (state P) :=
  match t with
  | O => map fst (mu P)
  | S k => flat_map (fun s => flat_map (fun a => map (fun y : state P * R * R => fst (fst y)) (p P s a)) (acts P)) (met k)
  end.
Lemma behind_met l : ok l -> forall y, In y (behind l) -> In (fst y) (met (length l)).
Proof.
  induction l as [|[o a] l IH]; simpl; intros K y Hy; [apply in_map; auto|].
  apply in_flat_map in Hy as (x & Hx & Hy). destruct (terminal P (fst x)); [contradiction|].
  apply in_map_iff in Hy as (z & <- & Hz). simpl. apply in_flat_map. exists (fst x). split.
  - apply IH; auto. intros w Hw. apply K. right; auto.
  - apply in_flat_map. exists a. split; [apply (K (o, a)); left; auto|].
    apply in_map_iff. exists z. auto.
Qed.
Definition most : R := sumn (S N) (fun t => sum (met t) (fun s => sum (acts P) (fun a => Rabs (mean (p P s a) snd)))).
Lemma most_is l s a : ok l -> (length l <= N)%nat -> In s (met (length l)) -> In a (acts P) ->
  Rabs (mean (p P s a) snd) <= most.
Proof.
  intros K L Hs Ha.
  apply Rle_trans with (sum (acts P) (fun a => Rabs (mean (p P s a) snd))).
  { apply (sum_pos_term (acts P) (fun a => Rabs (mean (p P s a) snd))); auto. intros; apply Rabs_pos. }
  apply Rle_trans with (sum (met (length l)) (fun s => sum (acts P) (fun a => Rabs (mean (p P s a) snd)))).
  { apply (sum_pos_term (met (length l)) (fun s => sum (acts P) (fun a => Rabs (mean (p P s a) snd)))); auto.
    intros; apply sum_nonneg; intros; apply Rabs_pos. }
  apply (sum_pos_term (seq 0 (S N)) (fun t => sum (met t) (fun s => sum (acts P) (fun a => Rabs (mean (p P s a) snd))))).
  - intros; apply sum_nonneg; intros; apply sum_nonneg; intros; apply Rabs_pos.
  - apply in_seq. lia.
Qed.
Lemma most_pos : 0 <= most.
Proof.
  unfold most, sumn. repeat (apply sum_nonneg; intros). apply Rabs_pos.
Qed.
Lemma pays_abs l o a : ok l -> (length l <= N)%nat -> In a (acts P) -> Rabs (pays l o a) <= most * chance l o.
Proof.
  intros K L Ha. unfold pays, chance. rewrite <- mean_scal.
  apply Rle_trans with (1 := sum_abs _ _). apply sum_le. intros y Hy.
  rewrite Rabs_mult, (Rabs_pos_eq (snd y)) by (apply (behind_nonneg l); auto).
  apply Rmult_le_compat_l; [apply (behind_nonneg l); auto|].
  rewrite Rabs_mult, (Rabs_pos_eq (sees _ _)) by apply sees_nonneg.
  rewrite Rmult_comm. apply Rmult_le_compat_r; [apply sees_nonneg|].
  apply (most_is l); auto. apply behind_met; auto.
Qed.
Lemma worth_abs h n : is_plan h -> forall l o, (n + length l <= S N)%nat -> ok l ->
  Rabs (worth h n l o) <= INR n * most * chance l o.
Proof.
  intros Hh. induction n as [|n IH]; intros l o L K; [simpl; rewrite Rabs_R0; lra|].
  simpl worth. apply Rle_trans with (1 := sum_abs _ _).
  rewrite <- (sum_plan_const h l o (INR (S n) * most * chance l o)) by auto.
  apply sum_le. intros a Ha. rewrite Rabs_mult, (Rabs_pos_eq (h l o a)) by (apply Hh; auto).
  apply Rmult_le_compat_l; [apply Hh; auto|].
  pose proof most_pos as M0. pose proof (gamma_range P HP) as G. pose proof (pos_INR n) as I.
  unfold due. apply Rle_trans with (1 := Rabs_triang _ _). rewrite Rabs_mult, (Rabs_pos_eq (gamma P)) by lra.
  pose proof (pays_abs l o a K ltac:(lia) Ha) as A.
  assert (B : Rabs (sum (rows ((o, a) :: l)) (worth h n ((o, a) :: l))) <= INR n * most * chance l o).
  { apply Rle_trans with (1 := sum_abs _ _).
    apply Rle_trans with (INR n * most * sum (rows ((o, a) :: l)) (chance ((o, a) :: l))).
    - rewrite <- sum_scal. apply sum_le. intros o' _. apply IH; [simpl; lia|apply ok_cons; auto].
    - apply Rmult_le_compat_l; [apply Rmult_le_pos; auto|apply chance_next]. }
  assert (gamma P * Rabs (sum (rows ((o, a) :: l)) (worth h n ((o, a) :: l))) <= 1 * (INR n * most * chance l o)).
  { apply Rmult_le_compat; try lra. apply Rabs_pos. }
  rewrite S_INR. lra.
Qed.
End Tree.

(** * Memories without chance *)

Lemma Rmult_swap x y z : x * (y * z) = y * (x * z).
Proof. ring. Qed.
Section Det.
Variables (P : pomdp) (M W : Type) (ws : list W) (u : M -> W -> obs P -> act P -> M) (m0 : M).
Variables (Md : forall x y : M, {x = y} + {x <> y}) (Wd : forall x y : W, {x = y} + {x <> y}).
Let E := augment P (det M W ws u m0 Md Wd).
Lemma sum_det (f : act E -> R) : sum (acts E) f = sum (acts P) (fun a => sum ws (fun w => f (a, w))).
Proof. transitivity (sum (list_prod (acts P) ws) f); [reflexivity|]. apply sum_list_prod. Qed.
Lemma mean_p s x o a w (f : state E * R -> R) : mean (p E (s, x, o) (a, w)) f
  = mean (p P s a) (fun y => mean (omega P (fst y)) (fun o' => f ((fst y, u x w o a, o'), snd y))).
Proof.
  change (p E (s, x, o) (a, w)) with (bind (p P s a) (fun '(s', r) => bind (omega P s') (fun o' =>
    bind (ret (u x w o a)) (fun x' => ret ((s', x', o'), r))))).
  rewrite mean_bind. apply mean_ext. intros [s' r]. rewrite mean_bind. apply mean_ext. intros o'.
  rewrite mean_bind, mean_ret, mean_ret. auto.
Qed.
Lemma mean_mu (f : state E -> R) : mean (mu E) f = mean (mu P) (fun s => mean (omega P s) (fun o => f (s, m0, o))).
Proof.
  change (mu E) with (bind (mu P) (fun s => bind (ret m0) (fun x => bind (omega P s) (fun o => ret (s, x, o))))).
  rewrite mean_bind. apply mean_ext. intros s. rewrite mean_bind, mean_ret, mean_bind. apply mean_ext.
  intros o. apply mean_ret.
Qed.
Lemma next_det (v : state E -> R) s x o a w : next v (s, x, o) (a, w)
  = mean (p P s a) (fun y => mean (omega P (fst y)) (fun o' => snd y + gamma P * v (fst y, u x w o a, o'))).
Proof. unfold next. rewrite mean_p. reflexivity. Qed.
Lemma backup_det (pi : policy E) v s x o : backup pi v (s, x, o) = if terminal P s then 0 else
  sum (acts P) (fun a => sum ws (fun w => pi (x, o) (a, w) * next v (s, x, o) (a, w))).
Proof.
  unfold backup. change (terminal E (s, x, o)) with (terminal P s). destruct (terminal P s); auto.
  change (omega E (s, x, o)) with (ret (x, o)). rewrite mean_ret. unfold choose. apply sum_det.
Qed.
Lemma vn_end_det (pi : policy E) n s x o : terminal P s = true -> vn pi n (s, x, o) = 0.
Proof. intros H. destruct n; auto. cbn [vn]. rewrite backup_det, H. auto. Qed.
Lemma go_det (pi : policy E) f s x o : go pi f (s, x, o) = if terminal P s then 0 else
  sum (acts P) (fun a => sum ws (fun w => pi (x, o) (a, w) *
    mean (p P s a) (fun y => mean (omega P (fst y)) (fun o' => f (fst y, u x w o a, o'))))).
Proof.
  unfold go. change (terminal E (s, x, o)) with (terminal P s). destruct (terminal P s); auto.
  change (omega E (s, x, o)) with (ret (x, o)). rewrite mean_ret. unfold choose. rewrite sum_det.
  apply sum_ext. intros a. apply sum_ext. intros w. f_equal. apply mean_p.
Qed.
Lemma sees_det s x o m o' : sees (P := E) (s, x, o) (m, o') =
  if Md x m then (if terminal P s then 0 else if obs_dec P o o' then 1 else 0) else 0.
Proof.
  unfold sees. change (terminal E (s, x, o)) with (terminal P s).
  change (omega E (s, x, o)) with (ret (x, o)). rewrite prob_ret.
  destruct (terminal P s), (Md x m) as [X|X], (obs_dec P o o') as [Y|Y]; auto;
    destruct (obs_dec E (x, o) (m, o')) as [Z|Z]; auto.
  - contradiction Z. subst. auto.
  - contradiction Y. exact (f_equal snd Z).
  - contradiction X. exact (f_equal fst Z).
  - contradiction X. exact (f_equal fst Z).
Qed.
(* visits times q-values of the histories behind a row, by what later rows are worth *)
Hypothesis HP : is_pomdp P.
Lemma due_det (pi : policy E) n (l : pairs P) x o a w (V : pairs P -> obs P -> R) :
  (forall o', mean (behind P ((o, a) :: l)) (fun s => sees s o' * vn pi n (s, u x w o a, o'))
     = V ((o, a) :: l) o') ->
  mean (behind P l) (fun s => sees s o * qn pi n (s, x, o) (a, w)) = due P V l o a.
Proof.
  intros H. unfold due, pays.
  rewrite (sum_ext _ (V ((o, a) :: l))
    (fun o' => mean (behind P ((o, a) :: l)) (fun s => sees s o' * vn pi n (s, u x w o a, o'))))
    by (intros; symmetry; apply H).
  rewrite <- (by_rows P ((o, a) :: l) (fun s o' => vn pi n (s, u x w o a, o'))), behind_cons.
  rewrite <- mean_scal, <- mean_plus. apply mean_ext. intros s.
  unfold qn. rewrite next_det.
  rewrite (Rmult_swap (gamma P)), <- Rmult_plus_distr_l. f_equal. rewrite <- mean_scal, <- mean_plus. apply mean_ext.
  intros [s' r]. simpl fst. simpl snd.
  rewrite mean_plus, mean_scal, mean_const by apply (omega_dist P HP). f_equal. f_equal.
  destruct (terminal P s') eqn:T; auto.
  transitivity (mean (omega P s') (fun _ => 0)); [|apply mean_zero].
  apply mean_ext. intros o'. apply vn_end_det; auto.
Qed.
End Det.

(** * Memories that hold the history are walks in the tree *)

Section Holding.
Variable P : pomdp.
Hypothesis HP : is_pomdp P.
Variables (M : Type) (u : M -> obs P -> act P -> M) (m0 : M) (Md : forall x y : M, {x = y} + {x <> y}).
Variables (enc : pairs P -> M) (N : nat).
Hypothesis enc_start : enc [] = m0.
Hypothesis enc_next : forall l o a, (length l < N)%nat -> u (enc l) o a = enc ((o, a) :: l).
Let m : memory P := det M hold [Push] (fun x _ o a => u x o a) m0 Md hold_dec.
Let E := augment P m.
Implicit Types (pi : policy E) (l k : pairs P) (o : obs P) (a : act P) (s : state P).
Definition acting (pi : policy E) : plan P := fun l o a => pi (enc l, o) (a, Push).

Lemma sum_acts (f : act E -> R) : sum (acts E) f = sum (acts P) (fun a => f (a, Push)).
Proof.
  etransitivity; [apply (sum_det P M hold [Push] (fun x _ o a => u x o a))|].
  apply sum_ext. intros a. apply Rplus_0_r.
Qed.
Lemma acts_length : length (acts E) = length (acts P).
Proof.
  transitivity (length (list_prod (acts P) [Push])); [reflexivity|]. rewrite prod_length. simpl. lia.
Qed.
Lemma acts_E_some : acts P <> [] -> acts E <> [].
Proof. intros A B. pose proof acts_length as L. rewrite B in L. destruct (acts P); [contradiction|discriminate]. Qed.
Lemma acting_plan pi : is_policy pi -> is_plan P (acting pi).
Proof.
  intros H l o. destruct (H (enc l, o)) as [H1 H2]. split.
  - intros a Ha. apply H1. apply in_prod; simpl; auto.
  - rewrite <- H2, sum_acts. auto.
Qed.
Lemma start_E (f : state E -> R) : mean (mu E) f = mean (mu P) (fun s => mean (omega P s) (fun o => f (s, m0, o))).
Proof. apply (mean_mu P M hold [Push] (fun x _ o a => u x o a)). Qed.
Lemma next_E (v : state E -> R) s x o a : next v (s, x, o) (a, Push)
  = mean (p P s a) (fun y => mean (omega P (fst y)) (fun o' => snd y + gamma P * v (fst y, u x o a, o'))).
Proof. apply (next_det P M hold [Push] (fun x _ o a => u x o a)). Qed.
Lemma backup_E pi v s x o : backup pi v (s, x, o) = if terminal P s then 0 else
  sum (acts P) (fun a => pi (x, o) (a, Push) * next v (s, x, o) (a, Push)).
Proof.
  etransitivity; [apply (backup_det P M hold [Push] (fun x _ o a => u x o a))|].
  destruct (terminal P s); auto. apply sum_ext. intros a. apply Rplus_0_r.
Qed.
Lemma vn_end_E pi n s x o : terminal P s = true -> vn pi n (s, x, o) = 0.
Proof. apply vn_end_det. Qed.

Lemma qn_due_of pi n l o a (V : pairs P -> obs P -> R) :
  (forall o', mean (behind P ((o, a) :: l)) (fun s => sees s o' * vn pi n (s, u (enc l) o a, o'))
     = V ((o, a) :: l) o') ->
  mean (behind P l) (fun s => sees s o * qn pi n (s, enc l, o) (a, Push)) = due P V l o a.
Proof. apply (due_det P M hold [Push] (fun x _ o a => u x o a) m0 Md hold_dec HP pi n l (enc l) o a Push). Qed.
Lemma vn_worth pi n : forall l o, (n + length l <= S N)%nat ->
  mean (behind P l) (fun s => sees s o * vn pi n (s, enc l, o)) = worth P (acting pi) n l o.
Proof.
  induction n as [|n IH]; intros l o L.
  - simpl. transitivity (mean (behind P l) (fun _ => 0)); [|apply mean_zero]. apply mean_ext. intros; ring.
  - simpl worth.
    rewrite (mean_ext _ _ (fun s => sum (acts P) (fun a => acting pi l o a * (sees s o * qn pi n (s, enc l, o) (a, Push))))).
    + rewrite mean_sum. apply sum_ext. intros a. rewrite mean_scal. f_equal. apply qn_due_of.
      intros o'. destruct n as [|n].
      * simpl. transitivity (mean (behind P ((o, a) :: l)) (fun _ => 0)); [|apply mean_zero]. apply mean_ext. intros; ring.
      * rewrite <- IH by (simpl in *; lia). rewrite enc_next by lia. auto.
    + intros s. cbn [vn]. rewrite backup_E. unfold sees. destruct (terminal P s).
      * symmetry. rewrite Rmult_0_l. apply sum_zero. intros; ring.
      * rewrite <- sum_scal. apply sum_ext. intros a. apply Rmult_swap.
Qed.
Lemma qn_due pi n l o a : (n + length l <= N)%nat ->
  mean (behind P l) (fun s => sees s o * qn pi n (s, enc l, o) (a, Push)) = due P (worth P (acting pi) n) l o a.
Proof.
  intros L. apply qn_due_of. intros o'. rewrite <- vn_worth by (simpl; lia). destruct n as [|n]; auto.
  rewrite enc_next by lia. auto.
Qed.
Lemma value_worth pi n : (n <= S N)%nat -> value_n pi n = sum (rows P []) (worth P (acting pi) n []).
Proof.
  intros L. unfold value_n. rewrite start_E.
  transitivity (mean (behind P []) (fun s => if terminal P s then 0 else
    mean (omega P s) (fun o => vn pi n (s, enc [], o)))).
  - apply mean_ext. intros s. rewrite enc_start. destruct (terminal P s) eqn:T; auto.
    transitivity (mean (omega P s) (fun _ => 0)); [|apply mean_zero].
    apply mean_ext. intros o. apply vn_end_E; auto.
  - rewrite (by_rows P [] (fun s o => vn pi n (s, enc [], o))). apply sum_ext. intros o.
    apply vn_worth. simpl. lia.
Qed.

(** ** Visits and q-values *)

Hypothesis enc_apart : forall l k, (length l <= N)%nat -> (length k <= N)%nat -> enc l = enc k -> l = k.
Hypothesis ends : horizon P (S N).

Lemma go_E pi f s x o : go pi f (s, x, o) = if terminal P s then 0 else sum (acts P) (fun a =>
  pi (x, o) (a, Push) * mean (p P s a) (fun y => mean (omega P (fst y)) (fun o' => f (fst y, u x o a, o')))).
Proof.
  etransitivity; [apply (go_det P M hold [Push] (fun x _ o a => u x o a))|].
  destruct (terminal P s); auto. apply sum_ext. intros a. apply Rplus_0_r.
Qed.
Lemma expect_at_time pi t : (t <= N)%nat -> forall f g : state E -> R,
  (forall s l o, length l = t -> f (s, enc l, o) = g (s, enc l, o)) -> expect pi t f = expect pi t g.
Proof.
  induction t as [|t IH]; intros L f g H.
  - simpl. rewrite !start_E. apply mean_ext. intros s. apply mean_ext. intros o. rewrite <- enc_start. auto.
  - simpl. apply IH; [lia|]. intros s l o Hl. rewrite !go_E. destruct (terminal P s); auto.
    apply sum_ext. intros a. f_equal. apply mean_ext. intros y. apply mean_ext. intros o'.
    rewrite enc_next by lia. apply H. simpl. lia.
Qed.
(* the chance of the actions of a history *)
Fixpoint took pi l : R :=
  match l with [] => 1 | (o, a) :: k => took pi k * acting pi k o a end.
Lemma expect_history pi l : (length l <= N)%nat -> ok P l -> forall F : state P -> obs P -> R,
  expect pi (length l) (fun '(s, x, o) => if Md x (enc l) then F s o else 0)
  = took pi l * mean (behind P l) (fun s => mean (omega P s) (F s)).
Proof.
  induction l as [|[o a] l IH]; intros L K F.
  - simpl. rewrite start_E, Rmult_1_l. apply mean_ext. intros s. apply mean_ext. intros o.
    rewrite enc_start. destruct (Md m0 m0); [auto|contradiction].
  - assert (Kl : ok P l) by (intros y Hy; apply K; right; auto).
    assert (Ka : In a (acts P)) by (apply (K (o, a)); left; auto).
    simpl in L. cbn [length expect].
    set (F' := fun s o' => if obs_dec P o' o then
       (if terminal P s then 0 else acting pi l o a * mean (p P s a) (fun y => mean (omega P (fst y)) (F (fst y)))) else 0).
    rewrite (expect_at_time pi (length l) ltac:(lia) _ (fun '(s, x, o') => if Md x (enc l) then F' s o' else 0)).
    + rewrite IH by (auto; lia). rewrite behind_cons. cbn [took].
      replace (took pi l * acting pi l o a * mean (behind P l) (fun s => sees s o * mean (p P s a) (fun y => mean (omega P (fst y)) (F (fst y)))))
        with (took pi l * (acting pi l o a * mean (behind P l) (fun s => sees s o * mean (p P s a) (fun y => mean (omega P (fst y)) (F (fst y)))))) by ring.
      f_equal. rewrite <- mean_scal. apply mean_ext. intros s. unfold F', sees, prob.
      destruct (terminal P s).
      * rewrite Rmult_0_l, Rmult_0_r. transitivity (mean (omega P s) (fun _ => 0)); [|apply mean_zero].
        apply mean_ext. intros o'. destruct (obs_dec P o' o); auto.
      * rewrite Rmult_swap, <- mean_scal_r. apply mean_ext. intros o'.
        destruct (obs_dec P o' o); ring.
    + intros s k o' Hk. rewrite go_E.
      destruct (terminal P s) eqn:T.
      { unfold F'. rewrite T. destruct (Md (enc k) (enc l)), (obs_dec P o' o); auto. }
      rewrite (sum_ext _ _ (fun b => if act_dec P b a then (if Md (enc k) (enc l) then (if obs_dec P o' o then
        acting pi l o a * mean (p P s a) (fun y => mean (omega P (fst y)) (F (fst y))) else 0) else 0) else 0)).
      * rewrite (sum_if (act_dec P) (acts P) a (fun _ => (if Md (enc k) (enc l) then (if obs_dec P o' o then
          acting pi l o a * mean (p P s a) (fun y => mean (omega P (fst y)) (F (fst y))) else 0) else 0))); auto; [|apply HP].
        unfold F'. rewrite T. auto.
      * intros b. rewrite enc_next by lia.
        destruct (Md (enc ((o', b) :: k)) (enc ((o, a) :: l))) as [Q|Q].
        -- apply enc_apart in Q; [|simpl; lia..]. injection Q as -> -> ->.
           destruct (act_dec P a a), (Md (enc l) (enc l)), (obs_dec P o o); try contradiction. auto.
        -- assert (Z : mean (p P s b) (fun y => mean (omega P (fst y)) (fun _ => 0)) = 0).
           { transitivity (mean (p P s b) (fun _ => 0)); [|apply mean_zero]. apply mean_ext. intros; apply mean_zero. }
           rewrite Z, Rmult_0_r.
           destruct (act_dec P b a) as [->|]; auto. destruct (Md (enc k) (enc l)) as [X|]; auto.
           destruct (obs_dec P o' o) as [->|]; auto. apply enc_apart in X; [|lia..]. subst k. contradiction.
Qed.
Lemma sees_E s x o' l o : sees (P := E) (s, x, o') (enc l, o) =
  if Md x (enc l) then (if terminal P s then 0 else if obs_dec P o' o then 1 else 0) else 0.
Proof. apply sees_det. Qed.
(* only the time of the history counts, and its states weigh the same whatever the policy *)
Lemma behind_history pi l o (f : state E -> R) : (length l <= N)%nat -> ok P l ->
  behind_n 1 pi (S N) (enc l, o) f = took pi l * mean (behind P l) (fun s => sees s o * f (s, enc l, o)).
Proof.
  intros L K. unfold behind_n, sumn.
  rewrite (sum_ext_in _ _ (fun t => if Nat.eq_dec t (length l) then
    took pi l * mean (behind P l) (fun s => sees s o * f (s, enc l, o)) else 0)).
  - apply (sum_if Nat.eq_dec (seq 0 (S N)) (length l) (fun _ => took pi l * mean (behind P l) (fun s => sees s o * f (s, enc l, o)))).
    + apply seq_NoDup.
    + apply in_seq. lia.
  - intros t Ht. apply in_seq in Ht. rewrite pow1, Rmult_1_l. destruct (Nat.eq_dec t (length l)) as [->|D].
    + rewrite (expect_at_time pi (length l) L _ (fun '(s, x, o') => if Md x (enc l) then
        (if terminal P s then 0 else if obs_dec P o' o then f (s, enc l, o) else 0) else 0)).
      * rewrite (expect_history pi l L K (fun s o' => if terminal P s then 0 else if obs_dec P o' o then f (s, enc l, o) else 0)).
        f_equal. apply mean_ext. intros s. unfold sees, prob. destruct (terminal P s); [rewrite mean_zero; ring|].
        rewrite <- mean_scal_r. apply mean_ext. intros o'. destruct (obs_dec P o' o); ring.
      * intros s k o' _. rewrite sees_E. destruct (Md (enc k) (enc l)) as [X|]; [|ring].
        rewrite X. destruct (terminal P s); [ring|]. destruct (obs_dec P o' o) as [->|]; ring.
    + rewrite (expect_at_time pi t ltac:(lia) _ (fun _ => 0)); [apply expect_zero|].
      intros s k o' Hk. rewrite sees_E. destruct (Md (enc k) (enc l)) as [X|]; [|ring].
      apply enc_apart in X; [|lia..]. subst k. lia.
Qed.
Lemma visits_history pi l o : (length l <= N)%nat -> ok P l ->
  visits (S N) pi (enc l, o) = took pi l * chance P l o.
Proof.
  intros L K. unfold visits, visits_n, chance.
  transitivity (behind_n 1 pi (S N) (enc l, o) (fun _ => 1)).
  - apply sum_ext. intros t. f_equal. apply expect_ext. intros; ring.
  - rewrite behind_history by auto. f_equal. apply mean_ext. intros; ring.
Qed.
(* episodes end, so that later steps add nothing *)
Lemma vn_ended pi j : forall s x o n n', ends_in P j s -> (j <= n)%nat -> (j <= n')%nat ->
  vn pi n (s, x, o) = vn pi n' (s, x, o).
Proof.
  induction j as [|j IH]; intros s x o n n' H Hn Hn'.
  - destruct H as [H|[]]. rewrite !vn_end_E; auto.
  - destruct H as [H|H]; [rewrite !vn_end_E; auto|].
    destruct n as [|n], n' as [|n']; try lia. cbn [vn]. rewrite !backup_E.
    destruct (terminal P s); auto. apply sum_ext_in. intros a Ha. f_equal. rewrite !next_E.
    apply mean_ext_in. intros y Hy. apply mean_ext. intros o'. do 2 f_equal.
    apply IH; [|lia..]. apply (H a y); auto.
Qed.
Lemma behind_ends l : (length l <= N)%nat -> ok P l -> forall y, In y (behind P l) ->
  ends_in P (S N - length l) (fst y).
Proof.
  induction l as [|[o a] l IH]; intros L K y Hy; [apply ends; auto|].
  assert (Kl : ok P l) by (intros z Hz; apply K; right; auto).
  assert (Ka : In a (acts P)) by (apply (K (o, a)); left; auto).
  simpl in Hy. apply in_flat_map in Hy as (x & Hx & Hy).
  destruct (terminal P (fst x)) eqn:T; [contradiction|].
  apply in_map_iff in Hy as (z & <- & Hz). simpl fst.
  simpl in L. specialize (IH ltac:(lia) Kl x Hx).
  replace (S N - length l)%nat with (S (S N - length ((o, a) :: l))) in IH by (cbn [length]; lia).
  destruct IH as [IH|IH]; [congruence|]. apply (IH a z); auto.
Qed.
Theorem q_history pi l o a : (length l <= N)%nat -> ok P l -> In a (acts P) -> took pi l <> 0 ->
  q (S N) pi (enc l, o) (a, Push) = due P (worth P (acting pi) (N - length l)) l o a / chance P l o.
Proof.
  intros L K Ha T. unfold q. rewrite visits_history, behind_history by auto.
  rewrite (mean_ext_in _ _ (fun s => sees s o * qn pi (N - length l) (s, enc l, o) (a, Push))).
  - rewrite qn_due by lia.
    destruct (Req_dec (chance P l o) 0) as [Z|Z].
    + rewrite Z, Rmult_0_r. unfold Rdiv. rewrite Rinv_0. ring.
    + field. auto.
  - intros y Hy. unfold sees. destruct (terminal P (fst y)) eqn:F; [ring|]. f_equal.
    pose proof (behind_ends l L K y Hy) as B.
    replace (S N - length l)%nat with (S (N - length l)) in B by lia.
    destruct B as [B|B]; [congruence|]. unfold qn. rewrite !next_E. apply mean_ext_in. intros z Hz.
    apply mean_ext. intros o'. do 2 f_equal. apply (vn_ended pi (N - length l)); [|lia..].
    apply (B a z); auto.
Qed.
End Holding.

(** * window(N) on at most N + 1 steps, and all history-based policies *)

Section Window.
Variables (P : pomdp) (N : nat).
Implicit Types (l k : pairs P).
Definition cells l : list (option (obs P * act P)) := repeat None (N - length l) ++ map Some (rev l).
Lemma cells_start : cells [] = repeat None N.
Proof. unfold cells. simpl. rewrite app_nil_r. f_equal. lia. Qed.
Lemma cells_next l o a : (length l < N)%nat -> tl (cells l ++ [Some (o, a)]) = cells ((o, a) :: l).
Proof.
  intros L. unfold cells. replace (N - length l)%nat with (S (N - length ((o, a) :: l))) by (simpl; lia).
  simpl. rewrite map_app. simpl. rewrite app_assoc. auto.
Qed.
Definition filled (m : list (option (obs P * act P))) : pairs P :=
  rev (flat_map (fun x => match x with Some y => [y] | None => [] end) m).
Lemma filled_cells l : filled (cells l) = l.
Proof.
  unfold filled, cells. rewrite flat_map_app.
  replace (flat_map _ (repeat None (N - length l))) with (@nil (obs P * act P)).
  - simpl. replace (flat_map _ (map Some (rev l))) with (rev l); [apply rev_involutive|].
    induction (rev l); simpl; [|f_equal]; auto.
  - induction (N - length l)%nat; simpl; auto.
Qed.
Lemma cells_apart l k : (length l <= N)%nat -> (length k <= N)%nat -> cells l = cells k -> l = k.
Proof. intros _ _ H. rewrite <- (filled_cells l), H. apply filled_cells. Qed.
End Window.

(* a step leads from policies to policies *)
Lemma step_is_policy {P : pomdp} T eps (pi pi' : policy P) : is_pomdp P -> 0 <= eps <= 1 -> is_policy pi ->
  is_step T eps pi pi' -> is_policy pi'.
Proof.
  intros HP He H St o. destruct (H o) as [H1 H2].
  destruct (St o) as [[_ K]|(_ & g & [Hg _] & K)].
  - split; [intros a Ha; rewrite K; auto|]. rewrite <- H2. apply sum_ext. auto.
  - split.
    + intros a Ha. rewrite K. specialize (H1 a Ha). assert (0 <= (1 - eps) * pi o a) by (apply Rmult_le_pos; lra).
      destruct (act_dec P a g); lra.
    + rewrite (sum_ext _ _ (fun a => (1 - eps) * pi o a + eps * (if act_dec P a g then 1 else 0))) by auto.
      rewrite sum_plus, !sum_scal, H2, (sum_if (act_dec P) (acts P) g (fun _ => 1)); auto; [ring|apply HP].
Qed.

Section Push.
Variables (P : pomdp) (N : nat).
Hypothesis HP : is_pomdp P.
Hypothesis ends : horizon P (S N).
Notation E := (augment P (window P N)).
Notation H := (augment P (everything P)).
Notation push1 := (fun m o a => tl (m ++ [Some (o, a)])).
Notation push2 := (fun l o a => (o, a) :: l).
Notation wdec := (list_eq_dec (option_dec (pair_dec (obs_dec P) (act_dec P)))).
Notation act1 := (acting P (list (option (obs P * act P))) push1 (repeat None N) wdec (cells P N)).
Notation act2 := (acting P (pairs P) push2 [] (pairs_dec P) (fun l => l)).

(* C bounds what the uniform policy lacks, after each history that can be met, of any history-based
   policy: the mean of the difference over the states behind the history *)
Definition lacks_at_most (C : R) : Prop := 0 <= C /\
  forall rho : policy H, is_policy rho -> forall n l o, (n + length l = S N)%nat -> ok P l ->
    mean (behind P l) (fun s => sees s o * (vn rho n (s, l, o) - vn (uniform H) n (s, l, o)))
    <= C * mean (behind P l) (fun s => sees s o).

Lemma value_of_history (rho : policy H) : value_n rho (S N) = sum (rows P []) (worth P (act2 rho) (S N) []).
Proof.
  apply (value_worth P HP (pairs P) push2 [] (pairs_dec P) (fun l => l) N); auto.
Qed.
Lemma value_of_window (pi : policy E) : value_n pi (S N) = sum (rows P []) (worth P (act1 pi) (S N) []).
Proof.
  apply (value_worth P HP _ push1 _ wdec (cells P N) N); auto; [apply cells_start|].
  intros; apply cells_next; auto.
Qed.
Definition of_plan (h : plan P) : policy H := fun y b => h (fst y) (snd y) (fst b).
Lemma of_plan_is h : is_plan P h -> is_policy (of_plan h).
Proof.
  intros Hh [l o]. destruct (Hh l o) as [H1 H2]. split.
  - intros [a w] Ha. apply in_prod_iff in Ha as [Ha _]. apply H1; auto.
  - rewrite <- H2. apply (sum_acts P (pairs P) push2 [] (pairs_dec P)).
Qed.
Lemma some_act : exists b, In b (acts P).
Proof.
  pose proof (acts_some P HP) as A. destruct (acts P) as [|b r]; [contradiction|]. exists b. left; auto.
Qed.
Lemma history_plan (rho : policy H) : is_policy rho -> is_plan P (act2 rho).
Proof. apply (acting_plan P (pairs P) push2 [] (pairs_dec P) (fun l => l)). Qed.
Lemma top_is_best : is_best_history P (S N) (sum (rows P []) (top P (S N) [])).
Proof.
  destruct some_act as [b Hb]. split.
  - intros rho Hr. rewrite value_of_history. apply sum_le. intros o _. apply top_most; auto.
    apply history_plan; auto.
  - exists (of_plan (best_plan P N b)). split; [apply of_plan_is, best_plan_is; auto|].
    rewrite value_of_history. apply sum_ext. intros o. apply (best_plan_top P HP N b); auto.
Qed.
Lemma best_is_top best : is_best_history P (S N) best -> best = sum (rows P []) (top P (S N) []).
Proof.
  intros [B (rho & Hr & V)]. destruct top_is_best as [T (rho' & Hr' & V')]. apply Rle_antisym.
  - rewrite <- V. auto.
  - rewrite <- V'. auto.
Qed.
Lemma lacking C : lacks_at_most C -> forall h, is_plan P h -> forall n l o, (n + length l = S N)%nat -> ok P l ->
  worth P h n l o - worth P (fun _ _ _ => / INR (length (acts P))) n l o <= C * chance P l o.
Proof.
  intros [C0 L] h Hh n l o Hn K. specialize (L (of_plan h) (of_plan_is h Hh) n l o Hn K).
  assert (V : forall rho : policy H, mean (behind P l) (fun s => sees s o * vn rho n (s, l, o)) = worth P (act2 rho) n l o).
  { intros rho. apply (vn_worth P HP (pairs P) push2 [] (pairs_dec P) (fun l => l) N); auto. lia. }
  rewrite (mean_ext _ _ (fun s => sees s o * vn (of_plan h) n (s, l, o) - sees s o * vn (uniform H) n (s, l, o))) in L
    by (intros; ring).
  rewrite mean_minus, !V in L. unfold chance.
  replace (worth P (fun _ _ _ => / INR (length (acts P))) n l o) with (worth P (act2 (uniform H)) n l o); auto.
  assert (Z : forall n l o, worth P (act2 (uniform H)) n l o = worth P (fun _ _ _ => / INR (length (acts P))) n l o).
  { clear. intros n. induction n as [|n IH]; intros l o; auto. simpl worth. apply sum_ext. intros a. f_equal.
    - unfold acting, uniform. do 2 f_equal. apply (acts_length P _ push2 [] (pairs_dec P)).
    - unfold due. do 2 f_equal. apply sum_ext. intros; apply IH. }
  apply Z.
Qed.

Section Run.
Variables (eps : R) (run : nat -> policy E).
Hypothesis He : 0 < eps < 1.
Hypothesis Hrun : is_run (S N) eps (uniform E) run.

Lemma acts_pos : 0 < INR (length (acts E)).
Proof.
  pose proof (acts_some P HP). apply lt_0_INR. 
  replace (length (acts E)) with (length (acts P)) by (symmetry; apply (acts_length P _ push1 (repeat None N) wdec)).
  destruct (acts P); [contradiction|simpl; lia].
Qed.
(* every action keeps a positive probability, so that every history is met *)
Lemma run_is i : is_policy (run i) /\ forall y b, 0 < run i y b.
Proof.
  destruct Hrun as [R0 RS]. induction i as [|i [IH1 IH2]].
  - rewrite R0. split.
    + apply is_policy_uniform. apply (acts_E_some P _ push1 (repeat None N) wdec), HP.
    + intros y b. apply Rinv_0_lt_compat, acts_pos.
  - specialize (RS i). assert (X : forall y b, 0 < run (S i) y b).
    { intros y b. destruct (RS y) as [[_ S]|(_ & g & _ & S)]; rewrite S; auto. specialize (IH2 y b).
      assert (0 < (1 - eps) * run i y b) by (apply Rmult_lt_0_compat; lra).
      destruct (act_dec E b g); lra. }
    split; auto. apply (step_is_policy (S N) eps (run i)); auto; [|lra].
    apply augment_is_pomdp; auto. apply det_is_memory; [repeat constructor; auto|discriminate].
Qed.
Lemma run_plan i : is_plan P (act1 (run i)).
Proof. apply (acting_plan P _ push1 _ wdec (cells P N)). apply run_is. Qed.
Lemma took_pos i l : 0 < took P _ push1 (repeat None N) wdec (cells P N) (run i) l.
Proof.
  induction l as [|[o a] l IH]; simpl; [lra|]. apply Rmult_lt_0_compat; auto.
  unfold acting. apply run_is.
Qed.
Lemma run_toward i n l o : (n + length l = N)%nat -> ok P l -> chance P l o = 0 \/
  exists g, In g (acts P) /\
    (forall a, In a (acts P) -> due P (worth P (act1 (run i)) n) l o a <= due P (worth P (act1 (run i)) n) l o g) /\
    forall a, act1 (run (S i)) l o a = (1 - eps) * act1 (run i) l o a + eps * (if act_dec P a g then 1 else 0).
Proof.
  intros L K. pose proof (chance_nonneg P HP l o) as C. destruct (Req_dec (chance P l o) 0) as [Z|Z]; [left; auto|right].
  assert (V : visits (P := E) (S N) (run i) (cells P N l, o) = took P _ push1 (repeat None N) wdec (cells P N) (run i) l * chance P l o).
  { apply (visits_history P HP _ push1 (repeat None N) wdec (cells P N) N); auto; try lia.
    - apply cells_start.
    - intros; apply cells_next; auto.
    - apply cells_apart. }
  pose proof (took_pos i l) as T.
  assert (VP : 0 < visits (P := E) (S N) (run i) (cells P N l, o)) by (rewrite V; apply Rmult_lt_0_compat; lra).
  destruct (proj2 Hrun i (cells P N l, o)) as [[X _]|(_ & [g w] & [G1 G2] & St)]; [lra|].
  apply in_prod_iff in G1 as [G1 [Gw|[]]]. subst w. exists g. split; auto.
  assert (Q : forall a, In a (acts P) -> q (P := E) (S N) (run i) (cells P N l, o) (a, Push)
      = due P (worth P (act1 (run i)) n) l o a / chance P l o).
  { intros a Ha. replace n with (N - length l)%nat by lia.
    apply (q_history P HP _ push1 (repeat None N) wdec (cells P N) N); auto; try lia; try lra.
    - apply cells_start.
    - intros; apply cells_next; auto.
    - apply cells_apart. }
  split.
  - intros a Ha. specialize (G2 (a, Push)). rewrite !Q in G2 by auto.
    assert (I : In (a, Push) (acts E)) by (apply in_prod; simpl; auto). specialize (G2 I).
    unfold Rdiv in G2. apply Rmult_le_reg_r in G2; auto. apply Rinv_0_lt_compat. lra.
  - intros a. unfold acting. rewrite St.
    destruct (act_dec P a g) as [Y|Y]; match goal with |- context [if ?d then _ else _] => destruct d as [X|X] end;
      try reflexivity;
      exfalso; [apply X; rewrite Y; reflexivity|apply Y; exact (f_equal fst X)].
Qed.
Lemma run_close C h : lacks_at_most C -> is_plan P h -> forall i n l o, (n + length l = S N)%nat -> ok P l ->
  worth P h n l o - worth P (act1 (run i)) n l o <= C * few_heads eps i n * chance P l o.
Proof.
  intros LC Hh. pose proof LC as [C0 _]. assert (He' : 0 <= eps <= 1) by lra. induction i as [|i IH]; intros n l o L K.
  - destruct n as [|n]; [simpl worth; rewrite few_none; lra|]. rewrite few_first, Rmult_1_r.
    apply Rle_trans with (2 := lacking C LC h Hh (S n) l o L K). right. f_equal.
    assert (Z : forall n l o, worth P (act1 (run 0%nat)) n l o = worth P (fun _ _ _ => / INR (length (acts P))) n l o).
    { destruct Hrun as [R0 _]. rewrite R0. clear. intros n. induction n as [|n IH]; intros l o; auto. simpl worth.
      apply sum_ext. intros a. f_equal.
      - unfold acting, uniform. do 2 f_equal. apply (acts_length P _ push1 (repeat None N) wdec).
      - unfold due. do 2 f_equal. apply sum_ext. intros; apply IH. }
    apply Z.
  - destruct n as [|n]; [simpl worth; rewrite few_none; lra|]. rewrite few_next.
    replace (C * ((1 - eps) * few_heads eps i (S n) + eps * few_heads eps i n))
      with ((1 - eps) * (C * few_heads eps i (S n)) + eps * (C * few_heads eps i n)) by ring.
    apply (closer P HP N eps (act1 (run i)) (act1 (run (S i)))); auto.
    + apply run_plan.
    + apply run_plan.
    + intros; apply run_toward; auto.
    + apply Rmult_le_pos; auto. apply few_range; auto.
Qed.
End Run.

(* T.push: after i steps the loop lacks at most C P(fewer than N + 1 of i coins show heads) <=
   C (N + 1)/(i eps) of the best history-based value, whatever the rule for ties *)
Theorem window_is_never_stuck best C eps run : is_best_history P (S N) best -> lacks_at_most C ->
  0 < eps < 1 -> is_run (S N) eps (uniform E) run -> forall i,
  value_n (run i) (S N) <= best /\
  best - value_n (run i) (S N) <= C * few_heads eps i (S N) /\
  INR i * eps * few_heads eps i (S N) <= INR (S N).
Proof.
  intros B LC He R i. rewrite (best_is_top best B). split; [|split].
  - rewrite value_of_window. apply sum_le. intros o _. apply top_most; auto. apply (run_plan eps run He R).
  - destruct some_act as [b Hb]. rewrite value_of_window, <- sum_minus.
    apply Rle_trans with (sum (rows P []) (fun o => C * few_heads eps i (S N) * chance P [] o)).
    + apply sum_le. intros o _. rewrite <- (best_plan_top P HP N b (S N) Hb [] o) by auto.
      apply (run_close eps run He R); auto; [apply best_plan_is; auto|intros y []].
    + rewrite sum_scal. rewrite <- (Rmult_1_r (C * few_heads eps i (S N))) at 2. apply Rmult_le_compat_l.
      * destruct LC. apply Rmult_le_pos; auto. apply few_range. lra.
      * rewrite (sum_ext _ _ (fun o => mean (behind P []) (fun s => sees s o * 1))) by (intros; apply mean_ext; intros; ring).
        rewrite <- (by_rows P [] (fun _ _ => 1)). simpl behind.
        apply Rle_trans with (mean (mu P) (fun _ => 1)); [|right; apply mean_const, HP].
        apply mean_le; [apply HP|]. intros s. destruct (terminal P s); [lra|].
        rewrite mean_const; [lra|apply (omega_dist P HP)].
  - apply few_rare. lra.
Qed.
Lemma large x : exists n, x < INR n.
Proof.
  destruct (Rle_dec 0 x) as [H|H]; [|exists 0%nat; simpl; lra].
  exists (Z.to_nat (up x)). destruct (archimed x) as [A _].
  rewrite INR_IZR_INZ, Z2Nat.id; auto. apply le_IZR. simpl. lra.
Qed.
(* so its returns tend to the best *)
Corollary window_converges best C eps run : is_best_history P (S N) best -> lacks_at_most C ->
  0 < eps < 1 -> is_run (S N) eps (uniform E) run -> Un_cv (fun i => value_n (run i) (S N)) best.
Proof.
  intros B LC He R e He0. pose proof LC as [C0 _].
  destruct (large (C * INR (S N) / (eps * e))) as [n Hn]. exists (S n). intros i Hi.
  destruct (window_is_never_stuck best C eps run B LC He R i) as (A1 & A2 & A3).
  unfold R_dist. rewrite Rabs_left1 by lra.
  assert (Hi' : INR n < INR i) by (apply lt_INR; lia). pose proof (pos_INR n).
  assert (0 < eps * e) by (apply Rmult_lt_0_compat; lra).
  assert (X : C * INR (S N) < INR i * (eps * e)).
  { apply Rmult_lt_reg_r with (/ (eps * e)); [apply Rinv_0_lt_compat; auto|].
    replace (INR i * (eps * e) * / (eps * e)) with (INR i) by (field; lra). unfold Rdiv in Hn. lra. }
  assert (Y : C * (INR i * eps * few_heads eps i (S N)) <= C * INR (S N)) by (apply Rmult_le_compat_l; auto).
  assert (0 < INR i * eps) by (apply Rmult_lt_0_compat; lra).
  assert (C * few_heads eps i (S N) < e); [|lra].
  apply Rmult_lt_reg_l with (INR i * eps); auto. lra.
Qed.
(* there is a best value, and a bound C *)
Theorem best_history_exists : exists best, is_best_history P (S N) best.
Proof. eexists. apply top_is_best. Qed.
Theorem lack_exists : exists C, lacks_at_most C.
Proof.
  exists (2 * INR (S N) * most P N). split.
  - apply Rmult_le_pos; [|apply most_pos]. pose proof (pos_INR (S N)). lra.
  - intros rho Hr n l o Hn K.
    assert (V : forall rho : policy H, mean (behind P l) (fun s => sees s o * vn rho n (s, l, o)) = worth P (act2 rho) n l o).
    { intros r. apply (vn_worth P HP (pairs P) push2 [] (pairs_dec P) (fun l => l) N); auto. lia. }
    rewrite (mean_ext _ _ (fun s => sees s o * vn rho n (s, l, o) - sees s o * vn (uniform H) n (s, l, o)))
      by (intros; ring).
    rewrite mean_minus, !V.
    assert (U : is_plan P (act2 (uniform H))).
    { apply history_plan, is_policy_uniform. apply (acts_E_some P _ push2 [] (pairs_dec P)), HP. }
    pose proof (worth_abs P HP N (act2 rho) n (history_plan rho Hr) l o ltac:(lia) K) as A1.
    pose proof (worth_abs P HP N (act2 (uniform H)) n U l o ltac:(lia) K) as A2.
    pose proof (Rle_abs (worth P (act2 rho) n l o)) as R1.
    pose proof (Rle_abs (- worth P (act2 (uniform H)) n l o)) as R2. rewrite Rabs_Ropp in R2.
    pose proof (chance_nonneg P HP l o) as C0. pose proof (most_pos P N) as M0.
    fold (chance P l o).
    assert (INR n * most P N * chance P l o <= INR (S N) * most P N * chance P l o).
    { apply Rmult_le_compat_r; auto. apply Rmult_le_compat_r; auto. apply le_INR. lia. }
    lra.
Qed.
End Push.
