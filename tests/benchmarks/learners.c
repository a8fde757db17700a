/* The learners in plain C, as somebody would write them for speed: the same updates, the same random words, the same
 * tables as the kernels of workbench/learning, the number of actions known at run time only. Compiled with
 *     gcc -O3 -march=native -ffp-contract=off -shared -fPIC
 * they give the same tables bit for bit. Each function runs `steps` steps from the start and returns the reward. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t u64;
typedef uint32_t u32;

typedef struct { u32 first, last, s, o; double r; } Row;
typedef struct { u64 threshold; double r; u32 s, o; } Outcome;
typedef struct { const Row *rows; const Outcome *outcomes, *starts; u64 n_starts, nA; } Model;
typedef struct { u64 a, b; } Random;
typedef struct { double best; u64 first, ties; } Greedy;

static const u32 END = 0xFFFFFFFFu;

static inline u64 draw(Random *g) {
    u64 a = g->a, b = g->b, word = a + b;
    b ^= a;
    g->a = ((a << 24) | (a >> 40)) ^ b ^ (b << 16);
    g->b = (b << 37) | (b >> 27);
    return word;
}

static inline u64 one_of(u64 n, u64 word) { return ((word >> 32) * n) >> 32; }

static inline u64 find(const Outcome *outcomes, u64 first, u64 last, u64 u) {
    if (last - first > 8) {
        while (first < last) {
            u64 middle = (first + last) >> 1;
            if (u < outcomes[middle].threshold) last = middle; else first = middle + 1;
        }
        return first;
    }
    while (first < last && u >= outcomes[first].threshold) first++;
    return first;
}

static inline void act(const Model *m, u64 row, Random *g, u64 *s, u32 *o, double *r) {
    const Row *x = &m->rows[row];
    if (x->first == x->last) { *s = x->s; *o = x->o; *r = x->r; return; }
    const Outcome *y = &m->outcomes[find(m->outcomes, x->first, x->last, draw(g) >> 11)];
    *s = y->s; *o = y->o; *r = y->r;
}

static inline void begin(const Model *m, Random *g, u64 *s, u64 *o) {
    u64 k = m->n_starts > 1 ? find(m->starts, 0, m->n_starts - 1, draw(g) >> 11) : 0;
    *s = m->starts[k].s; *o = m->starts[k].o;
}

static inline Greedy greedy(const double *q, u64 nA) {
    Greedy found = {q[0], 0, 1};
    for (u64 a = 1; a < nA; a++) {
        if (q[a] > found.best) { found.best = q[a]; found.first = a; found.ties = 1; }
        else if (q[a] == found.best) found.ties++;
    }
    return found;
}

static inline u64 tied(const double *q, u64 nA, double best, u64 j) {
    for (u64 a = 0; a < nA; a++)
        if (q[a] == best && j-- == 0) return a;
    return 0;
}

static inline u64 epsilon_greedy(const double *q, u64 nA, Greedy found, u64 epsilon, Random *g) {
    if (draw(g) >> 11 < epsilon) return one_of(nA, draw(g));
    if (found.ties > 1) return tied(q, nA, found.best, one_of(found.ties, draw(g)));
    return found.first;
}

double q_learning(const Model *m, u64 g0, u64 g1, u64 steps, double *q, u64 epsilon, double step, double gamma) {
    Random g = {g0, g1};
    u64 nA = m->nA, s, o;
    double total = 0;
    begin(m, &g, &s, &o);
    Greedy found = greedy(q + o * nA, nA);
    for (u64 t = 0; t < steps; t++) {
        u64 a = epsilon_greedy(q + o * nA, nA, found, epsilon, &g), i = o * nA + a;
        u32 o_next;
        double r;
        act(m, s * nA + a, &g, &s, &o_next, &r);
        total += r;
        if (o_next == END) {
            q[i] += step * (r - q[i]);
            begin(m, &g, &s, &o);
            found = greedy(q + o * nA, nA);
        } else {
            found = greedy(q + o_next * nA, nA);
            q[i] += step * (r + gamma * found.best - q[i]);
            if (o_next == o) found = greedy(q + o * nA, nA);
            o = o_next;
        }
    }
    return total;
}

double monte_carlo(const Model *m, u64 g0, u64 g1, u64 steps, double *q, u64 epsilon, double step, double gamma) {
    Random g = {g0, g1};
    u64 nA = m->nA, s, o, held = 0, room = 4096;
    u32 *pair_at = malloc(room * sizeof *pair_at);
    double *r_at = malloc(room * sizeof *r_at), total = 0;
    begin(m, &g, &s, &o);
    for (u64 t = 0; t < steps; t++) {
        if (held == room) {
            room *= 2;
            pair_at = realloc(pair_at, room * sizeof *pair_at);
            r_at = realloc(r_at, room * sizeof *r_at);
        }
        u64 a = epsilon_greedy(q + o * nA, nA, greedy(q + o * nA, nA), epsilon, &g);
        u32 o_next;
        double r;
        pair_at[held] = o * nA + a;
        act(m, s * nA + a, &g, &s, &o_next, &r);
        r_at[held++] = r;
        total += r;
        o = o_next;
        if (o_next == END) {
            double G = 0;
            while (held > 0) {
                double *entry = &q[pair_at[--held]];
                G = r_at[held] + gamma * G;
                *entry += step * (G - *entry);
            }
            begin(m, &g, &s, &o);
        }
    }
    free(pair_at); free(r_at);
    return total;
}

double sarsa(const Model *m, u64 g0, u64 g1, u64 steps, double *q, u64 entries, u64 epsilon, double step, double gamma,
             double lambda, double cutoff) {
    Random g = {g0, g1};
    u64 nA = m->nA, s, o, held = 0;
    u32 *active = malloc(entries * sizeof *active), *place = calloc(entries, sizeof *place);
    double *z = malloc(entries * sizeof *z), total = 0, decay = gamma * lambda;
    begin(m, &g, &s, &o);
    u64 a = epsilon_greedy(q + o * nA, nA, greedy(q + o * nA, nA), epsilon, &g);
    double q_old = q[o * nA + a];
    for (u64 t = 0; t < steps; t++) {
        u64 i = o * nA + a;
        u32 o_next;
        double r, q_next = 0;
        act(m, s * nA + a, &g, &s, &o_next, &r);
        total += r;
        if (o_next != END) {
            o = o_next;
            a = epsilon_greedy(q + o * nA, nA, greedy(q + o * nA, nA), epsilon, &g);
            q_next = q[o * nA + a];
        }
        if (place[i] == 0) { active[held] = i; z[held] = 1; place[i] = ++held; }
        else z[place[i] - 1] = (1 - step) * z[place[i] - 1] + 1;
        double change = q[i] - q_old, move = step * (r + gamma * q_next - q[i] + change);
        for (u64 j = 0; j < held; j++) q[active[j]] += move * z[j];
        q[i] -= step * change;
        q_old = q_next;
        if (o_next == END) {
            for (u64 j = 0; j < held; j++) place[active[j]] = 0;
            held = 0;
            begin(m, &g, &s, &o);
            a = epsilon_greedy(q + o * nA, nA, greedy(q + o * nA, nA), epsilon, &g);
            q_old = q[o * nA + a];
        } else {
            double smallest = 1;
            for (u64 j = 0; j < held; j++) {
                z[j] *= decay;
                if (z[j] < smallest) smallest = z[j];
            }
            for (u64 j = 0; smallest <= cutoff && j < held;) {
                if (z[j] > cutoff) { j++; continue; }
                place[active[j]] = 0;
                if (j < --held) { active[j] = active[held]; z[j] = z[held]; place[active[j]] = j + 1; }
            }
        }
    }
    free(active); free(place); free(z);
    return total;
}

static inline double exponential(double x) {
    x = x > -700.0 ? x : -700.0;
    double shifted = x * 1.4426950408889634 + 6755399441055744.0, k = shifted - 6755399441055744.0;
    double r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10, r2 = r * r, r4 = r2 * r2;
    double low = (1.0 + r) + (0.5 + 0.16666666666666666 * r) * r2;
    double middle = (0.041666666666666664 + 0.008333333333333333 * r)
        + (0.001388888888888889 + 0.0001984126984126984 * r) * r2;
    double high = (2.48015873015873e-05 + 2.7557319223985893e-06 * r)
        + (2.755731922398589e-07 + 2.505210838544172e-08 * r) * r2;
    double top = 2.08767569878681e-09 + 1.6059043836821613e-10 * r;
    double series = (low + middle * r4) + (high + top * r4) * (r4 * r4), power;
    u64 bits;
    memcpy(&bits, &shifted, 8);
    bits = (bits + 1023) << 52;
    memcpy(&power, &bits, 8);
    return series * power;
}

static inline void improve(double *h, double *pi, double *v, u64 o, u64 a, u64 nA, double G, double policy_step,
                           double value_step) {
    double delta = G - v[o], move = policy_step * delta;
    v[o] += value_step * delta;
    if (move == 0) return;
    h += o * nA; pi += o * nA;
    for (u64 b = 0; b < nA; b++) h[b] -= move * pi[b];
    h[a] += move;
    double largest = h[0], total = 0;
    for (u64 b = 1; b < nA; b++) largest = h[b] > largest ? h[b] : largest;
    for (u64 b = 0; b < nA; b++) pi[b] = exponential(h[b] - largest);
    for (u64 b = 0; b < nA; b++) total += pi[b];
    double share = 1 / total;
    for (u64 b = 0; b < nA; b++) pi[b] *= share;
}

double actor_critic(const Model *m, u64 g0, u64 g1, u64 steps, double *h, double *v, u64 entries, u64 n, double gamma,
                    double policy_step, double value_step) {
    Random g = {g0, g1};
    u64 nA = m->nA, s, o, held = 0, oldest = 0;
    u64 *o_at = malloc(n * sizeof *o_at), *a_at = malloc(n * sizeof *a_at);
    double *pi = malloc(entries * sizeof *pi), *G_at = malloc(n * sizeof *G_at), total = 0;
    double *powers = malloc((n + 1) * sizeof *powers);
    for (u64 i = 0; i < entries; i++) pi[i] = 1.0 / nA;
    powers[0] = 1;
    for (u64 k = 0; k < n; k++) powers[k + 1] = powers[k] * gamma;
    begin(m, &g, &s, &o);
    for (u64 t = 0; t < steps; t++) {
        const double *row = pi + o * nA;
        double u = (draw(&g) >> 11) / 9007199254740992.0, cumulative = row[0], r;
        u64 a = 0;
        while (a + 1 < nA && u >= cumulative) cumulative += row[++a];
        u64 newest = oldest + held >= n ? oldest + held - n : oldest + held;
        o_at[newest] = o; a_at[newest] = a; G_at[newest] = 0;
        held++;
        u32 o_next;
        act(m, s * nA + a, &g, &s, &o_next, &r);
        total += r;
        if (r != 0) {
            u64 at = newest;
            for (u64 k = 0; k < held; k++) {
                G_at[at] += powers[k] * r;
                at = at == 0 ? n - 1 : at - 1;
            }
        }
        if (o_next == END) {
            for (; held > 0; held--) {
                improve(h, pi, v, o_at[oldest], a_at[oldest], nA, G_at[oldest], policy_step, value_step);
                oldest = oldest + 1 == n ? 0 : oldest + 1;
            }
            begin(m, &g, &s, &o);
        } else {
            o = o_next;
            if (held == n) {
                double G = G_at[oldest] + powers[n] * v[o];
                improve(h, pi, v, o_at[oldest], a_at[oldest], nA, G, policy_step, value_step);
                oldest = oldest + 1 == n ? 0 : oldest + 1;
                held--;
            }
        }
    }
    free(o_at); free(a_at); free(pi); free(G_at); free(powers);
    return total;
}
