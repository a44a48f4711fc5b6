//! The colour that an organization gives to the picker, as a stylesheet. The policy of the page
//! forbids styles within it.

/// The backgrounds of the page that the colour has to stand out from, in light and in dark.
const LIGHT: Rgb = Rgb([0xf6, 0xf7, 0xf9]);
const DARK: Rgb = Rgb([0x1d, 0x21, 0x29]);
const WHITE: Rgb = Rgb([0xff, 0xff, 0xff]);
const BLACK: Rgb = Rgb([0, 0, 0]);
/// The contrast that people with low vision need for text (WCAG 2.2, 1.4.3).
const MIN_CONTRAST: f64 = 4.5;
/// The number of steps from a colour to black or white.
const STEPS: u32 = 50;

/// A colour: red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rgb([u8; 3]);

impl Rgb {
    /// Parses six hexadecimal digits in lower case, and nothing else.
    fn parse(digits: &str) -> Option<Self> {
        let is_digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        if digits.len() != 6 || !digits.bytes().all(is_digit) {
            return None;
        }
        let part = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
        Some(Self([part(0)?, part(2)?, part(4)?]))
    }

    /// Returns the colour between this and another one, at `step` of `steps` steps.
    fn mix(self, other: Self, step: u32, steps: u32) -> Self {
        let mut parts = self.0;
        for (part, end) in parts.iter_mut().zip(other.0) {
            let sum = u32::from(*part) * (steps - step) + u32::from(end) * step;
            *part = u8::try_from(sum / steps).unwrap_or(u8::MAX);
        }
        Self(parts)
    }

    /// Returns the relative luminance.
    fn luminance(self) -> f64 {
        let [red, green, blue] = self.0.map(|part| {
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 {
                part / 12.92
            } else {
                ((part + 0.055) / 1.055).powf(2.4)
            }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    fn contrast(self, other: Self) -> f64 {
        let (a, b) = (self.luminance() + 0.05, other.luminance() + 0.05);
        a.max(b) / a.min(b)
    }

    fn css(self) -> String {
        format!("#{}", hex_of(self.0))
    }
}

fn hex_of(parts: [u8; 3]) -> String {
    parts.map(|part| format!("{part:02x}")).concat()
}

/// The variables of one colour scheme.
fn variables(color: Rgb, background: Rgb, towards: Rgb, ink: Rgb) -> String {
    let soft = background.mix(color, 1, 10);
    let is_readable = |accent: &Rgb| {
        [background, soft, ink]
            .iter()
            .all(|other| accent.contrast(*other) >= MIN_CONTRAST)
    };
    let accent = (0..=STEPS)
        .map(|step| color.mix(towards, step, STEPS))
        .find(is_readable)
        .unwrap_or(towards);
    format!(
        "--accent: {accent}; --focus: {accent}; --accent-ink: {ink}; --accent-soft: {soft};",
        accent = accent.css(),
        ink = ink.css(),
        soft = soft.css(),
    )
}

/// Returns the stylesheet for a colour of six hexadecimal digits, or `None` for anything else. The
/// colour is made darker or lighter as far as text needs it.
pub(crate) fn stylesheet(digits: &str) -> Option<String> {
    let color = Rgb::parse(digits)?;
    let light = variables(color, LIGHT, BLACK, WHITE);
    let dark = variables(color, DARK, WHITE, BLACK);
    Some(format!(
        ":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stylesheet_has_nothing_but_colors_that_can_be_read() {
        for color in ["000000", "ffffff", "1f5fc4", "ffee00", "7f7f7f", "ff0000"] {
            let sheet = stylesheet(color).unwrap();
            let parts: Vec<&str> = sheet.split("--accent: #").skip(1).collect();
            let accents: Vec<Rgb> = parts
                .iter()
                .map(|part| Rgb::parse(&part[..6]).unwrap())
                .collect();
            assert_eq!(accents.len(), 2, "{sheet}");
            for (accent, background) in accents.iter().zip([LIGHT, DARK]) {
                assert!(
                    accent.contrast(background) >= MIN_CONTRAST,
                    "{color}: {sheet}"
                );
            }
        }
        // A colour that can be read stays as it is.
        assert!(
            stylesheet("1f5fc4")
                .unwrap()
                .starts_with(":root { --accent: #1f5fc4;")
        );
    }

    #[test]
    fn anything_but_six_digits_is_refused() {
        for bad in [
            "", "fff", "1F5FC4", "#1f5fc", "1f5fc4}", "1f5fcé", "red;}*{", "1f5fc44",
        ] {
            assert_eq!(stylesheet(bad), None, "{bad}");
        }
    }
}
