//! A row of the table: what something costs, as a multiple of its floor, both measured in turns.

/// Number of measurements of each side.
pub const PAIRS: usize = 5;

/// One row.
#[derive(Debug)]
pub struct Row {
    pub name: String,
    /// The baseline: its name and the work that is compared.
    pub floor: String,
    /// Cost by floor, of each pair, sorted.
    pub ratios: Vec<f64>,
    /// Median cost of one unit, as text with its unit.
    pub cost: String,
    pub limit: Option<Limit>,
}

/// A bound on a ratio.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    AtMost(f64),
}

impl Row {
    /// Measures both sides in turns.
    pub fn of(
        (name, floor): (&str, &str),
        limit: Option<Limit>,
        mut pair: impl FnMut() -> (f64, f64),
        cost: impl Fn(f64) -> String,
    ) -> Self {
        let mut pairs: Vec<(f64, f64)> = (0..PAIRS).map(|_| pair()).collect();
        pairs.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
        Self {
            name: name.to_owned(),
            floor: floor.to_owned(),
            ratios: pairs.iter().map(|(ours, floor)| ours / floor).collect(),
            cost: pairs
                .get(PAIRS / 2)
                .map_or_else(String::new, |(ours, _)| cost(*ours)),
            limit,
        }
    }

    pub fn median(&self) -> f64 {
        self.ratios
            .get(self.ratios.len() / 2)
            .copied()
            .unwrap_or(f64::NAN)
    }

    /// Returns true if the median keeps the limit, or if there is no limit.
    pub fn holds(&self) -> bool {
        match self.limit {
            None => true,
            Some(Limit::AtMost(most)) => self.median() <= most,
        }
    }

    /// The row of a Markdown table.
    pub fn line(&self) -> String {
        let limit = match self.limit {
            None => String::new(),
            Some(Limit::AtMost(most)) => format!("≤ {most:.2}"),
        };
        let spread = match (self.ratios.first(), self.ratios.last()) {
            (Some(least), Some(most)) => format!("{least:.2}–{most:.2}"),
            _ => String::new(),
        };
        let verdict = if self.holds() { "" } else { " ✗" };
        format!(
            "| {} | {} | {} | {:.2} | {spread} | {limit}{verdict} |",
            self.name,
            self.cost,
            self.floor,
            self.median()
        )
    }
}

/// Milliseconds or microseconds, as fits.
pub fn time(seconds: f64) -> String {
    if seconds >= 1e-3 {
        format!("{:.2} ms", seconds * 1e3)
    } else {
        format!("{:.2} µs", seconds * 1e6)
    }
}
