//! A GGUF file: its metadata, and its tensors as f32.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use candle_core::quantized::gguf_file::{Content, Value};
use candle_core::{Device, Tensor};

use super::EngineError;

trait ReadSeek: Read + Seek + Send {}
impl<T: Read + Seek + Send> ReadSeek for T {}

/// An open file.
pub(super) struct Gguf {
    content: Content,
    reader: Box<dyn ReadSeek>,
}

impl Gguf {
    pub(super) fn open(path: &Path) -> Result<Self, EngineError> {
        let file = File::open(path).map_err(|source| EngineError::Io {
            path: path.to_owned(),
            source,
        })?;
        Self::read(BufReader::with_capacity(1 << 20, file), path)
    }

    pub(super) fn read(
        mut reader: impl Read + Seek + Send + 'static,
        path: &Path,
    ) -> Result<Self, EngineError> {
        let content = Content::read(&mut reader).map_err(|error| EngineError::NotGguf {
            path: path.to_owned(),
            message: error.to_string(),
        })?;
        Ok(Self {
            content,
            reader: Box::new(reader),
        })
    }

    fn value(&self, key: &str) -> Result<&Value, EngineError> {
        self.content
            .metadata
            .get(key)
            .ok_or_else(|| EngineError::Missing(key.to_owned()))
    }

    pub(super) fn text(&self, key: &str) -> Result<String, EngineError> {
        Ok(self.value(key)?.to_string()?.clone())
    }

    pub(super) fn number(&self, key: &str) -> Result<usize, EngineError> {
        Ok(self.value(key)?.to_u32()? as usize)
    }

    pub(super) fn float(&self, key: &str) -> Result<f64, EngineError> {
        Ok(f64::from(self.value(key)?.to_f32()?))
    }

    pub(super) fn texts(&self, key: &str) -> Result<Vec<String>, EngineError> {
        self.value(key)?
            .to_vec()?
            .iter()
            .map(|value| Ok(value.to_string()?.clone()))
            .collect()
    }

    pub(super) fn numbers(&self, key: &str) -> Result<Vec<i64>, EngineError> {
        self.value(key)?
            .to_vec()?
            .iter()
            .map(|value| match value {
                Value::I32(number) => Ok(i64::from(*number)),
                other => Ok(i64::from(other.to_u32()?)),
            })
            .collect()
    }

    pub(super) fn flag(&self, key: &str) -> Result<bool, EngineError> {
        Ok(self.value(key)?.to_bool()?)
    }

    pub(super) fn floats(&self, key: &str) -> Result<Vec<f32>, EngineError> {
        self.value(key)?
            .to_vec()?
            .iter()
            .map(|value| Ok(value.to_f32()?))
            .collect()
    }

    pub(super) fn has_tensor(&self, name: &str) -> bool {
        self.content.tensor_infos.contains_key(name)
    }

    /// A tensor, dequantised.
    pub(super) fn tensor(&mut self, name: &str) -> Result<Tensor, EngineError> {
        if !self.has_tensor(name) {
            return Err(EngineError::Missing(name.to_owned()));
        }
        let tensor = self.content.tensor(&mut self.reader, name, &Device::Cpu)?;
        Ok(tensor.dequantize(&Device::Cpu)?)
    }
}
