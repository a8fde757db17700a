"""What the paper says, in its own words: the sentence that each row about it is a reading of.

At most 25 words each; mathematics is written in plain characters and citations are left out. A row
with a star, or one of ours about a figure, has the sentence that it corrects or explains.
"""

from __future__ import annotations

QUOTES = {
    "S1.memoryless": "In fully observable environments, learning memoryless policies proves to be "
    "efficient and optimal.",
    "S51.mc-variance": "Monte-Carlo estimates are guaranteed to converge to the real values of "
    "q_pi(o,a), though they do have high variance",
    "S52.small-change": "updating pi by a small amount will also only have a small effect on "
    "P_pi(s|o), making such a difference insignificant",
    "S53.favour": "Those results, which are shown in Appendix D, also favor Ok memories.",
    "S6.view": "We also decreased the agent's field of view from 8x8 to 3x3 cells",
    "A1.gamma": "we define the POMDP P' = <S', O', A', R', p', omega', gamma', mu'> [...] as "
    "follows",
    "A2.belief": "the belief state correctly summarizes the history of an interaction",
    "C.structure": "choosing memory that comes with more built-in structure helps avoid local "
    "minima",
    "D2.hallway": "depending on previous observations, the optimal actions (and expected rewards) "
    "will be completely different when the agent is in the hallway",
    "D2.hallway-memory": "In contrast, PPO with OA6 and O6 memories is able to solve these tasks.",
    "D3.minigrid": "The agent has 7 actions [...] a time limit of 1280 steps [...] a time limit of "
    "245 steps",
    "D3.reward": "Going to the right object results in a reward of 1.",
    "S3.arbitrary": "an optimal memoryless policy can be arbitrarily worse than the optimal "
    "history-based policy for POMDPs",
    "S4.ignore": "the optimal memoryless policy for E must be at least as good as the optimal "
    "memoryless policy for the original POMDP P",
    "S4.gravity-none": "no memoryless policies can solve this problem optimally",
    "S4.gravity-bit": "an optimal memoryless policy for this augmented problem will optimally "
    "solve the gravity domain",
    "S4.button": "The optimal policy for this problem is to first press the button and then to go "
    "to the cookie.",
    "S4.sizes": "First, the action space grows exponentially with k.",
    "S4.premature": "it will believe it has transitioned from a state with low expected reward "
    "[...] to a state with high expected reward",
    "S4.fig-gravity": "neither q-learning nor 5-step actor-critic were able to understand how to "
    "use the B1 memory to consistently solve the gravity domain",
    "S4.k-forgets": "they do not allow the agent to remember events that occurred more than k "
    "steps in the past",
    "S4.ok-general": "Ok memories are a generalization of k-order memories",
    "S4.imagine": "Ok memories are unable to imagine events that have not yet happened",
    "S4.ok-actions": "Ok memories are insufficient in domains where the history of actions matters",
    "S5.oa1-encodes": "this memory-augmented environment has a memoryless policy that is optimal "
    "for the original POMDP",
    "S5.not-mdp": "the reward given by the bottom transition 3T will be 0 or 1 depending on the"
    " history",
    "S5.b2-not-mdp": "Something similar occurs when using B2 memory",
    "S5.fig-diagrams": "Figure 3 shows a transition diagram for the recall task using an OA1 "
    "memory.",
    "S5.b2-smallest": "B2 memory, which is the smallest Bk memory that can encode an optimal "
    "policy for the recall task",
    "S5.fig-recall": "we see that q-learning does not converge",
    "S5.fig-jumps": "q-learning jumps between an optimal policy and a zero reward policy",
    "S5.small-steps": "we see that q-learning does not converge",
    "S5.settle": "we see that q-learning does not converge",
    "S5.settle-worth": "we see that q-learning does not converge",
    "S5.settle-b1": "we see that q-learning does not converge",
    "S51.mc": "Monte-Carlo estimates are guaranteed to converge to the real values of q_pi(o,a)",
    "S51.variance": "TD estimates have lower variance but might not converge to q_pi(o,a)",
    "S51.variance*": "TD estimates have lower variance but might not converge to q_pi(o,a)",
    "S51.td": "a one-step TD estimate would converge to q_pi(empty, 2T) = 0 + gamma q_pi(2, 3T) = "
    "gamma",
    "S51.b2-more": "the B2 memory has more non-Markovian shortcuts than OA1",
    "S51.b2-unstable": "This is why q-learning over B2 is more unstable than q-learning over OA1 "
    "in this domain.",
    "S51.b-general": "we would expect that Bk memories introduce more non-Markovian shortcuts than "
    "OAk memories since they are more flexible",
    "S51.fig-better": "which could partially explain the better empirical performance of OAk and "
    "Ok memories",
    "S51.nstep": "The first is to use n-step TD estimates, with a large enough value of n.",
    "S51.fig-gravity2": "the performance of 20-step actor-critic in the gravity domain is far "
    "superior to 5-step actor-critic",
    "S51.fig-shared": "5-step actor-critic performs better when using O2 or OA2, than when using "
    "O1 or OA1",
    "S51.bigger": "increase the size of the memory, since doing so tends to remove non-Markovian "
    "shortcuts",
    "S51.bigger*": "increase the size of the memory, since doing so tends to remove non-Markovian "
    "shortcuts",
    "S52.local": "the policy improvement theorem works locally because updating pi by a small "
    "amount will also only have a small effect on P_pi(s|o)",
    "S52.local*": "the policy improvement theorem works locally because updating pi by a small "
    "amount will also only have a small effect on P_pi(s|o)",
    "S52.mdp": "updating the current policy pi by any amount towards the greedy policy [...] will "
    "lead to better policies",
    "S52.converge": "a policy learning method that takes small update steps is guaranteed to "
    "converge to locally optimal memoryless policies",
    "S52.not-global": "the policy improvement theorem does not work generally here",
    "S52.stable": "if the memory can represent the optimal policy, then that solution will be "
    "stable given accurate q-value estimations",
    "S52.stable*": "if the memory can represent the optimal policy, then that solution will be "
    "stable given accurate q-value estimations",
    "S52.fig-variant": "OA1 and B1 are enough to encode a memoryless policy that is globally "
    "optimal. However, note that OA1 converges to a suboptimal solution.",
    "S52.vanish": "this problem vanishes as we increase the size of the memory in this domain",
    "S53.lines": "it takes less than 40 lines of code to integrate each external memory into "
    "OpenAI gym",
    "S6.doors": "O3 and OA3 perform best, as they consistently converge to good solutions on all "
    "runs.",
    "S6.memory": "O3 and OA3 perform best, as they consistently converge to good solutions on all "
    "runs.",
    "S6.cookie-lstm": "we were also unable to get PPO with LSTMs to perform any better than a "
    "random policy",
    "S6.cookie": "PPO with OA6 and O6 memories is able to solve these tasks.",
    "S6.keys": "PPO with OA6 and O6 memories is able to solve these tasks.",
    "S6.keys-lstm": "we were also unable to get PPO with LSTMs to perform any better than a "
    "random policy",
    "S6.speedups": "training PPO with an Ok memory was between 1.06 to 9.85 times faster than "
    "training PPO with an LSTM when using CPUs",
    "A1.equivalent": "P' is equivalent to E because both environments generate rewards and "
    "observations following the same probability distributions from the agent's perspective",
    "A1.why-o": "O has been included in S' to ensure the consistency of p' and omega' in the case "
    "that the next observation is stored",
    "A2.optimal": "the optimal memoryless policy for the memory-augmented environment [...] is "
    "equivalent to the optimal history-based policy for P",
    "A2.optimal*": "the optimal memoryless policy for the memory-augmented environment [...] is "
    "equivalent to the optimal history-based policy for P",
    "A2.rewards": "the optimal memoryless policy for the memory-augmented environment [...] is "
    "equivalent to the optimal history-based policy for P",
    "A4.bk": "Bk is sufficiently expressive for P if k >= ceil(log2 |O|) + ceil(log2 |A|) + "
    "ceil(log2 u)",
    "A4.bk*": "Bk is sufficiently expressive for P if k >= ceil(log2 |O|) + ceil(log2 |A|) + "
    "ceil(log2 u)",
    "A4.oak": "OAk is sufficiently expressive for P if the belief state of any history is "
    "dependent on only the last k observation-action pairs.",
    "A4.ok": "Ok and Kk are sufficiently expressive if the belief state of any history only "
    "depends on the last k observations.",
    "B.why": "the agent will prefer action <1,T> over the optimal action <0,T> in <o,1>",
    "B.settle": "the ideal agent from Section 5.2 converges to a suboptimal policy",
    "C.b2-expressive": "We now show that B2 is sufficiently expressive for the 4-action recall "
    "task, by identifying a policy for the task.",
    "C.b2-expressive*": "We now show that B2 is sufficiently expressive for the 4-action recall "
    "task, by identifying a policy for the task.",
    "C.minimum": "will get stuck in a local minimum when using Bk memory, for any value of k",
    "C.optimal": "the optimal policy is given by selecting action 0 and then action 2",
    "C1": "The q-values for a given policy pi for the 4-action recall task with B1 memory are "
    "given by: [...]",
    "C2": "Then the policy that is greedy on the q-values of pi_l is pi_1 itself.",
    "C2.print": "Then the policy that is greedy on the q-values of pi_l is pi_1 itself.",
    "C3": "Then the policy that is greedy on the q-values of pi~ is also pi_l.",
    "C3.print": "eps I_{w=0} r_a1 + eps I_{w=1} r_a3 + (1 - eps) sum_i (p~^w_i0 + p~^w_i1) r_ai",
    "C4": "will converge to a suboptimal policy on the 4-action recall task with B1 external "
    "memory, when initialized with a uniform policy",
    "C5": "converge to a suboptimal policy on the 4-action recall task with Bk external memory "
    "[...] for any k >= 1",
    "C5.beta": "beta^k = (1 + sum_j p^0_j0) / (1 + sum_j p^0_j0 / 2^(k-1))",
    "C5.print": "the only change is that t_i is replaced by a t^n_i = p^0_im / sum_i p^0_im",
    "C6": "not guaranteed to converge to a policy that is as good as best history-based policy, "
    "even when using sufficiently expressive memory",
    "C7": "will converge to a policy that is arbitrarily far from the optimal memoryless policy",
    "C.fig": "That figure also shows (empirically) that a B5 memory converges to a suboptimal "
    "policy in this problem.",
    "C.settle": "algorithms that follow a policy improvement scheme can get stuck at this optimum",
    "D6.fig-sarsa": "Sarsa(lambda) learns to control O1 and OA1 memories regardless of the value "
    "of lambda.",
    "D6.doors": "In general, Ok memories outperform the other forms of memories, except for Pong",
    "D6.cookie": "In general, Ok memories outperform the other forms of memories, except for Pong",
    "D6.memory": "we have found that pure temporal difference methods can still take advantage of "
    "Ok and OAk memories",
    "D6.lambda": "lambda controls the degree in which this algorithm behaves as a pure TD "
    "method [...] or a pure Monte Carlo method",
}
"""By the id of the row."""
