//! Pages: 128 steps of an entity, by column, as bytes.
//!
//! A page is the number of the format, and a deflate stream of: the number of columns (2 bytes), and
//! for each column the length of its name (1), its name, and its weights, averages and maxima. Each of
//! these is 128 numbers of 4 bytes. A number is combined by XOR with the one before it, and all first
//! bytes are before all second bytes: numbers that are like their neighbours become runs of zeros.
//! Numbers are little-endian. A step without a value has weight 0.

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use std::io::{Read, Write};

/// Steps of a page.
pub(crate) const PAGE_STEPS: usize = 128;
/// Number of the format.
const FORMAT: u8 = 1;
/// Largest number of columns.
const MAX_COLUMNS: usize = 256;
/// Bytes of the numbers of a column.
const COLUMN_BYTES: usize = 3 * 4 * PAGE_STEPS;
/// Largest length of a page before compression.
const MAX_BYTES: u64 = (2 + MAX_COLUMNS * (1 + 255 + COLUMN_BYTES)) as u64;

/// Value of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cell {
    /// Milliseconds over which the mean is; 0 without a value.
    pub weight_ms: u32,
    pub average: f32,
    pub max: f32,
}

impl Cell {
    /// Adds values of the same step.
    pub fn merge(&mut self, other: &Self) {
        if other.weight_ms == 0 {
            return;
        }
        if self.weight_ms == 0 {
            *self = *other;
            return;
        }
        let (own, added) = (f64::from(self.weight_ms), f64::from(other.weight_ms));
        self.average = ((f64::from(self.average) * own + f64::from(other.average) * added) / (own + added)) as f32;
        self.max = self.max.max(other.max);
        self.weight_ms = self.weight_ms.saturating_add(other.weight_ms);
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Column {
    name: String,
    cells: Box<[Cell; PAGE_STEPS]>,
}

/// 128 steps of an entity.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Page(Vec<Column>);

/// Bytes that are no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

impl Page {
    /// Last step with a value.
    pub fn last(&self) -> Option<usize> {
        self.0.iter().filter_map(|column| column.cells.iter().rposition(|cell| cell.weight_ms > 0)).max()
    }

    /// Adds a value to a step. A column more than the page may have is left out.
    pub fn add(&mut self, slot: usize, name: &str, cell: &Cell) {
        let at = self.0.iter().position(|column| column.name == name);
        if at.is_none() && self.0.len() < MAX_COLUMNS && name.len() <= usize::from(u8::MAX) {
            self.0.push(Column { name: name.to_owned(), cells: Box::new([Cell::default(); PAGE_STEPS]) });
        }
        let column = match at {
            Some(at) => self.0.get_mut(at),
            None => self.0.iter_mut().find(|column| column.name == name),
        };
        if let Some(own) = column.and_then(|column| column.cells.get_mut(slot)) {
            own.merge(cell);
        }
    }

    /// Steps of a column, if the page has it.
    pub fn column(&self, name: &str) -> Option<&[Cell; PAGE_STEPS]> {
        self.0.iter().find(|column| column.name == name).map(|column| &*column.cells)
    }

    /// Bytes of the page.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(2 + self.0.len() * (COLUMN_BYTES + 16));
        body.extend_from_slice(&u16::try_from(self.0.len()).unwrap_or(u16::MAX).to_le_bytes());
        for column in &self.0 {
            body.push(u8::try_from(column.name.len()).unwrap_or(u8::MAX));
            body.extend_from_slice(column.name.as_bytes());
            put(&mut body, column.cells.iter().map(|cell| cell.weight_ms));
            put(&mut body, column.cells.iter().map(|cell| cell.average.to_bits()));
            put(&mut body, column.cells.iter().map(|cell| cell.max.to_bits()));
        }
        let mut encoder = DeflateEncoder::new(vec![FORMAT], Compression::fast());
        let written = encoder.write_all(&body).and_then(|()| encoder.finish());
        // A vector takes everything.
        written.unwrap_or_default()
    }

    /// Page with these bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let Some((&FORMAT, packed)) = bytes.split_first() else { return Err(Malformed) };
        let mut body = Vec::new();
        DeflateDecoder::new(packed).take(MAX_BYTES + 1).read_to_end(&mut body).map_err(|_| Malformed)?;
        let mut rest = body.as_slice();
        let count = u16::from_le_bytes(take(&mut rest)?);
        let mut columns = Vec::new();
        for _ in 0..count {
            let [length] = take(&mut rest)?;
            let (name, numbers) = rest.split_at_checked(usize::from(length)).ok_or(Malformed)?;
            let name = std::str::from_utf8(name).map_err(|_| Malformed)?.to_owned();
            let (numbers, after) = numbers.split_at_checked(COLUMN_BYTES).ok_or(Malformed)?;
            rest = after;
            let mut numbers = numbers.chunks_exact(4 * PAGE_STEPS).map(numbers_of);
            let mut next = || numbers.next().ok_or(Malformed);
            let (weights, averages, maxima) = (next()?, next()?, next()?);
            let mut cells = Box::new([Cell::default(); PAGE_STEPS]);
            for (((cell, weight), average), max) in cells.iter_mut().zip(weights).zip(averages).zip(maxima) {
                *cell = Cell { weight_ms: weight, average: f32::from_bits(average), max: f32::from_bits(max) };
            }
            columns.push(Column { name, cells });
        }
        if rest.is_empty() { Ok(Self(columns)) } else { Err(Malformed) }
    }
}

/// Appends 128 numbers.
fn put(body: &mut Vec<u8>, numbers: impl Iterator<Item = u32>) {
    let mut before = 0;
    let mut differences = [0; PAGE_STEPS];
    for (difference, number) in differences.iter_mut().zip(numbers) {
        *difference = number ^ before;
        before = number;
    }
    for byte in 0..4 {
        body.extend(differences.iter().map(|difference| (difference >> (8 * byte)) as u8));
    }
}

/// 128 numbers of 4 × 128 bytes.
fn numbers_of(bytes: &[u8]) -> [u32; PAGE_STEPS] {
    let mut numbers = [0; PAGE_STEPS];
    for (byte, plane) in bytes.chunks_exact(PAGE_STEPS).enumerate() {
        for (number, part) in numbers.iter_mut().zip(plane) {
            *number |= u32::from(*part) << (8 * byte);
        }
    }
    let mut before = 0;
    for number in &mut numbers {
        *number ^= before;
        before = *number;
    }
    numbers
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], Malformed> {
    let (taken, after) = rest.split_first_chunk::<N>().ok_or(Malformed)?;
    *rest = after;
    Ok(*taken)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::{Cell, Malformed, PAGE_STEPS, Page};
    use random::Random;

    fn some_page(random: &Random) -> Page {
        let mut page = Page::default();
        for _ in 0..random.below(400) {
            let (slot, name) = (random.index(PAGE_STEPS), format!("column_{}", random.below(9)));
            let average = random.below(1 << 40) as f32 / 16.0;
            page.add(slot, &name, &Cell { weight_ms: random.below(300_000) as u32, average, max: average * 2.0 });
        }
        page
    }

    #[test]
    fn bytes_of_a_page_are_that_page() {
        for seed in 0..200 {
            let page = some_page(&Random::new(seed));
            assert_eq!(Page::decode(&page.encode()), Ok(page), "seed {seed}");
        }
    }

    #[test]
    fn damaged_bytes_are_no_page_or_another_one() {
        let random = Random::new(7);
        let bytes = some_page(&random).encode();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 + random.byte() % 255;
            // Whatever the bytes are, the decoder ends and takes little memory.
            let _either = Page::decode(&damaged);
            assert_eq!(Page::decode(&bytes[..at]), Err(Malformed), "cut at {at}");
        }
        let mut long = bytes;
        long[0] = 2;
        assert_eq!(Page::decode(&long), Err(Malformed));
    }

    /// A month of an idle column costs next to nothing, and numbers that are like their neighbours little.
    #[test]
    fn smooth_columns_are_small() {
        let mut page = Page::default();
        for slot in 0..PAGE_STEPS {
            for column in ["a", "b", "c", "d", "e", "f"] {
                let average = 1000.0 + slot as f32;
                page.add(slot, column, &Cell { weight_ms: 300_000, average, max: 2000.0 });
            }
        }
        let bytes = page.encode().len();
        assert!(bytes < 32 * PAGE_STEPS, "{bytes} bytes");
    }

    #[test]
    fn cells_of_one_step_are_merged_by_weight() {
        let mut cell = Cell { weight_ms: 1000, average: 10.0, max: 30.0 };
        cell.merge(&Cell { weight_ms: 3000, average: 2.0, max: 5.0 });
        assert_eq!(cell, Cell { weight_ms: 4000, average: 4.0, max: 30.0 });
        cell.merge(&Cell::default());
        assert_eq!(cell.weight_ms, 4000);
        let mut empty = Cell::default();
        empty.merge(&cell);
        assert_eq!(empty, cell);
        let name = "x".repeat(300);
        let mut page = Page::default();
        page.add(0, &name, &cell);
        assert!(page.column(&name).is_none());
        assert_eq!(Page::decode(&page.encode()).unwrap(), page);
    }
}
