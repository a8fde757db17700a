(* Definition A.2: a memory that can keep all beliefs apart. *)
From Coq Require Import Reals Lra Lia List Bool Arith.
From Remembering Require Import Sums Model.
Import ListNotations.
Open Scope R_scope.

Section Expressive.
Variable P : pomdp.
(* a history is o_0 and the pairs a_0, o_1; a_1, o_2; ... *)
Definition history := (obs P * list (act P * obs P))%type.
Definition is_history (h : history) : Prop := forall y, In y (snd h) -> In (fst y) (acts P).
Definition last_obs (h : history) : obs P := last (map snd (snd h)) (fst h).

(* the mean of f(s_t) over the ways that show the observations of the history, given its actions *)
Fixpoint along (s : state P) (l : list (act P * obs P)) (f : state P -> R) : R :=
  match l with
  | [] => f s
  | (a, o) :: k =>
      if terminal P s then 0
      else mean (p P s a) (fun y => prob (obs_dec P) (omega P (fst y)) o * along (fst y) k f)
  end.
Definition weight (h : history) (f : state P -> R) : R :=
  mean (mu P) (fun s => prob (obs_dec P) (omega P s) (fst h) * along s (snd h) f).
Definition possible (h : history) : Prop := 0 < weight h (fun _ => 1).
(* the belief b(h): b_t(s) proportional to omega(o_t|s) sum p b_{t-1}, b_0 to omega(o_0|s) mu(s); as the
   mean of any f over it *)
Definition belief (h : history) (f : state P -> R) : R := weight h f / weight h (fun _ => 1).
Definition same_belief (h h' : history) : Prop := forall f, belief h f = belief h' f.

(* the memory states that may be left behind when f says what to write: Omega_f(h) *)
Variable m : memory P.
Definition update := mem m -> obs P -> act P -> write m.
Fixpoint leads (f : update) (x : mem m) (o : obs P) (l : list (act P * obs P)) (x' : mem m) : Prop :=
  match l with
  | [] => x = x'
  | (a, o') :: k => exists r y, 0 < prob (mem_dec m) (Gamma m x (f x o a) o a r o') y /\ leads f y o' k x'
  end.
Definition may_end_in (f : update) (h : history) (x : mem m) : Prop :=
  exists x0, 0 < prob (mem_dec m) (eta m) x0 /\ leads f x0 (fst h) (snd h) x.

Definition sufficiently_expressive : Prop := exists f : update,
  (forall x o a, In (f x o a) (writes m)) /\
  forall h h', is_history h -> is_history h' -> possible h -> possible h' ->
    last_obs h = last_obs h' -> ~ same_belief h h' ->
    forall x, ~ (may_end_in f h x /\ may_end_in f h' x).
End Expressive.
Arguments possible {P}. Arguments same_belief {P}. Arguments may_end_in {P m}. Arguments belief {P}.
Arguments weight {P}. Arguments along {P}. Arguments is_history {P}. Arguments last_obs {P}.
Arguments leads {P m}.
