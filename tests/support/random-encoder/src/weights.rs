//! A file of tensors in the format safetensors, filled with made-up numbers.

use serde_json::{Map, Value, json};

/// Tensors of 32-bit numbers in the order in which they are added.
pub(crate) struct TensorFile {
    seed: u64,
    header: Map<String, Value>,
    data: Vec<u8>,
}

impl TensorFile {
    /// Returns a file without tensors.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            header: Map::new(),
            data: Vec::new(),
        }
    }

    /// Adds a table of rows. The first row of each pair in `copies` is that of the second.
    pub(crate) fn add_table(
        &mut self,
        name: &str,
        rows: usize,
        width: usize,
        copies: &[(usize, usize)],
    ) {
        let mut values = self.make_values(name, rows * width, 1.0);
        for (to, from) in copies {
            values.copy_within(from * width..(from + 1) * width, to * width);
        }
        self.add(name, &[rows, width], &values);
    }

    /// Adds the weight and the bias of a linear layer.
    pub(crate) fn add_linear(&mut self, name: &str, inputs: usize, outputs: usize) {
        let weight = format!("{name}.weight");
        // The outputs vary about as much as the inputs.
        let range = (3.0 / inputs as f32).sqrt();
        let values = self.make_values(&weight, outputs * inputs, range);
        self.add(&weight, &[outputs, inputs], &values);
        let bias = format!("{name}.bias");
        let values = self.make_values(&bias, outputs, 0.1);
        self.add(&bias, &[outputs], &values);
    }

    /// Adds the weight and the bias of a layer normalization.
    pub(crate) fn add_norm(&mut self, name: &str, width: usize) {
        let weight = format!("{name}.weight");
        let mut values = self.make_values(&weight, width, 0.1);
        for value in &mut values {
            *value += 1.0;
        }
        self.add(&weight, &[width], &values);
        let bias = format!("{name}.bias");
        let values = self.make_values(&bias, width, 0.1);
        self.add(&bias, &[width], &values);
    }

    /// Returns the bytes of the file: the length of the header, the header as JSON, the numbers.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        let mut header = Value::Object(self.header).to_string().into_bytes();
        // The numbers start at a multiple of eight bytes.
        header.resize(header.len().next_multiple_of(8), b' ');
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header);
        bytes.extend(self.data);
        bytes
    }

    fn add(&mut self, name: &str, shape: &[usize], values: &[f32]) {
        let start = self.data.len();
        for value in values {
            self.data.extend(value.to_le_bytes());
        }
        let entry = json!({
            "dtype": "F32",
            "shape": shape,
            "data_offsets": [start, self.data.len()],
        });
        self.header.insert(name.to_owned(), entry);
    }

    /// Returns numbers between `-range` and `range` that depend on the name: `SplitMix64` after an
    /// FNV-1a hash.
    fn make_values(&self, name: &str, count: usize, range: f32) -> Vec<f32> {
        let mut state = 0xcbf2_9ce4_8422_2325 ^ self.seed;
        for byte in name.bytes() {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }

        let mut values = Vec::with_capacity(count);
        for _ in 0..count {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^= mixed >> 31;
            // The upper 24 bits as a number from 0 to 1.
            let unit = (mixed >> 40) as f32 / (1_u32 << 24) as f32;
            values.push((unit * 2.0 - 1.0) * range);
        }
        values
    }
}
