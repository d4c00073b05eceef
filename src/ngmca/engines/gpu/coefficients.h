// What is done with coefficients in a frame, of spectra or of images.

DEVICE REAL clipped(REAL x, REAL most) { return x > most ? most : x < -most ? -most : x; }

// What is done with each coefficient of S.
constexpr int KEPT = 0;      // out := it
constexpr int WEIGHED = 1;   // out := tau noise / (1 + |it| / (scale noise)), 0 in the smooth band
constexpr int ADVANCED = 2;  // out += tau (it - soft(out, scale Lam))

struct Use {
    int what;
    const REAL *noise, *Lam;  // of this source
    REAL* out;
    REAL scale, tau;
    int bands;
    long long period;
};

DEVICE void use(const Use& given, int band, long long place, REAL value) {
    const long long at = band * given.period + place;
    if (given.what == KEPT) {
        given.out[at] = value;
    } else if (given.what == WEIGHED) {
        const REAL level = given.scale * given.noise[band];
        const REAL top = band < given.bands - 1 ? given.tau * level * given.noise[band] : 0;
        const REAL below = level + fabs(value);
        given.out[at] = below > 0 ? top / below : 0;
    } else {
        const REAL x = given.out[at];
        given.out[at] = x + given.tau * (value - x + clipped(x, given.scale * given.Lam[at]));
    }
}

// The coefficient that W' is applied to: X, or if it is reflected 2 soft(X, scale Lam) - X.
DEVICE REAL given_at(const REAL* X, const REAL* Lam, int reflected, REAL scale, long long at) {
    const REAL x = X[at];
    return reflected ? x - 2 * clipped(x, scale * Lam[at]) : x;
}
