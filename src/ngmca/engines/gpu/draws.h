// Random numbers and the Mills ratio, as in sampling/random_draws.py, from which the tables come.

struct Tables {
    const double *mills, *ends, *heights;
};

constexpr int NODES = 1537, LAYERS = 257;
constexpr double LOW = -20, HIGH = 4, STEPS = 64, DENSITY = 0.3989422804014327, CERTAIN = 1e-300;
constexpr double TAIL = 3.6541528853610088;

DEVICE Tables tables_of(const double* all) { return {all, all + NODES, all + NODES + LAYERS}; }

DEVICE unsigned long long mixed(unsigned long long z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

// The first state of the stream with this index.
DEVICE unsigned long long stream(unsigned long long key, unsigned long long index) {
    return mixed(key + mixed(index * 0xD1342543DE82EF95ull + 0x9E3779B97F4A7C15ull));
}

DEVICE double as_uniform(unsigned long long bits) { return (double(bits >> 11) + 0.5) * 1.1102230246251565e-16; }

DEVICE double uniform(unsigned long long& state) {
    state += 0x9E3779B97F4A7C15ull;
    return as_uniform(mixed(state));
}

// M(t) by cubic interpolation.
DEVICE double table(const Tables& given, double t) {
    const double place = (t - LOW) * STEPS;
    const int k = int(place) < NODES - 2 ? int(place) : NODES - 2;
    const double s = place - k, left = LOW + k / STEPS, before = given.mills[k];
    const double rise = given.mills[k + 1] - before, slope = (1 + left * before) / STEPS;
    const double next = (1 + (left + 1 / STEPS) * given.mills[k + 1]) / STEPS;
    return before + s * (slope + s * (3 * rise - 2 * slope - next + s * (slope + next - 2 * rise)));
}

// 1 / M(t), and t + 1 / M(t) without cancellation.
DEVICE double inverse_mills(const Tables& given, double t, double& excess) {
    if (t < LOW) {
        const double y = 1 / (t * t);
        excess = -(1 + y * (-2 + y * (10 - 74 * y))) / t;
        return excess - t;
    }
    double inverse;
    if (t > HIGH) {
        const double density = DENSITY * exp(-0.5 * t * t);
        inverse = density / (1 - density * table(given, -t > LOW ? -t : LOW));
        if (inverse < CERTAIN) inverse = CERTAIN;
    } else {
        inverse = 1 / table(given, t);
    }
    excess = t + inverse;
    return inverse;
}

DEVICE double log_mills(const Tables& given, double t) {
    if (t > 30) return 0.5 * t * t - log(DENSITY);
    double excess;
    return -log(inverse_mills(given, t, excess));
}

// A standard normal draw (ziggurat).
DEVICE double normal(const Tables& given, unsigned long long& state) {
    while (true) {
        state += 0x9E3779B97F4A7C15ull;
        const unsigned long long bits = mixed(state);
        const int layer = int(bits & 255);
        const double u = 2 * as_uniform(bits) - 1, x = u * given.ends[layer];
        if (fabs(x) < given.ends[layer + 1]) return x;
        if (layer == 0)
            while (true) {
                const double a = uniform(state), b = uniform(state), far = -log(a) / TAIL;
                if (-2 * log(b) > far * far) return x > 0 ? TAIL + far : -TAIL - far;
            }
        const double v = uniform(state), height = given.heights[layer];
        if (height + v * (given.heights[layer + 1] - height) < exp(-0.5 * x * x)) return x;
    }
}

// A draw from the normal of mean t and variance 1, given that it is above 0.
DEVICE double positive_normal(const Tables& given, unsigned long long& state, double t) {
    if (t > -0.4)
        while (true) {
            const double z = normal(given, state);
            if (t + z > 0) return t + z;
        }
    const double rate = 0.5 * (sqrt(t * t + 4) - t);
    while (true) {
        const double a = uniform(state), v = uniform(state), z = -log(a) / rate;
        if (v <= exp(-0.5 * (z - t - rate) * (z - t - rate))) return z;
    }
}
