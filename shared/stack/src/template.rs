//! A template that `sam build` has built, with the folders of its functions.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// The resource types whose files are uploaded.
const FUNCTION: &str = "AWS::Serverless::Function";
const NESTED_STACK: &str = "AWS::CloudFormation::Stack";
/// The name of the program in the folder of a function.
pub(crate) const BOOTSTRAP: &str = "bootstrap";

/// The part of a program that names its processor.
const ELF_HEADER_BYTES: u64 = 20;

/// A built template.
#[derive(Debug, Clone)]
pub struct BuiltTemplate {
    folder: PathBuf,
    template: Value,
}

impl BuiltTemplate {
    /// Reads the template of a folder: the output of `sam build`, or an unpacked archive of a release.
    ///
    /// # Errors
    /// Fails if there is no template, or if its functions are not built.
    pub fn open(folder: &Path) -> Result<Self> {
        let file = folder.join("template.yaml");
        let advice = "name a folder with built functions: .aws-sam/build after `sam build`, or an unpacked \
                      recollect-functions archive";
        let text = fs::read_to_string(&file)
            .with_context(|| format!("cannot read {}: {advice}", file.display()))?;
        let template: Value = serde_norway::from_str(&text)
            .with_context(|| format!("{} is not a built template: {advice}", file.display()))?;
        let built = Self {
            folder: folder.to_owned(),
            template,
        };

        let functions = built.functions();
        if functions.is_empty() {
            bail!("{} has no functions: {advice}", file.display());
        }
        for function in functions.values() {
            let program = function.join(BOOTSTRAP);
            if !program.is_file() {
                bail!("{} is missing: {advice}", program.display());
            }
        }
        Ok(built)
    }

    /// Returns the folders of the functions by the names of their resources.
    pub fn functions(&self) -> BTreeMap<String, PathBuf> {
        self.files_of(FUNCTION, "CodeUri")
    }

    /// Returns the templates of the nested stacks by the names of their resources.
    pub(crate) fn nested_templates(&self) -> BTreeMap<String, PathBuf> {
        self.files_of(NESTED_STACK, "TemplateURL")
    }

    fn files_of(&self, kind: &str, property: &str) -> BTreeMap<String, PathBuf> {
        let mut files = BTreeMap::new();
        for (name, resource) in self.resources() {
            if resource["Type"] == kind
                && let Some(path) = resource["Properties"][property].as_str()
            {
                files.insert(name.clone(), self.folder.join(path));
            }
        }
        files
    }

    fn resources(&self) -> impl Iterator<Item = (&String, &Value)> {
        let resources = self.template["Resources"].as_object();
        resources.into_iter().flatten()
    }

    /// Returns the names of the template's parameters.
    pub fn parameters(&self) -> Vec<&str> {
        let parameters = self.template["Parameters"].as_object();
        parameters
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_str())
            .collect()
    }

    /// Returns the value of the parameter `Arch` for which the functions were built.
    ///
    /// # Errors
    /// Fails if a function is not a program for Linux on `arm64` or `x86_64`.
    pub fn architecture(&self) -> Result<&'static str> {
        let functions = self.functions();
        let folder = functions.values().next().context("no functions")?;
        let program = folder.join(BOOTSTRAP);
        let mut header = Vec::new();
        fs::File::open(&program)
            .and_then(|file| file.take(ELF_HEADER_BYTES).read_to_end(&mut header))
            .with_context(|| format!("cannot read {}", program.display()))?;
        // The machine of an ELF file is at offset 18: 0x3e is x86-64, 0xb7 is AArch64.
        match (header.get(..4), header.get(18)) {
            (Some(b"\x7fELF"), Some(0x3e)) => Ok("x86_64"),
            (Some(b"\x7fELF"), Some(0xb7)) => Ok("arm64"),
            _ => bail!("{} is not a program for Lambda", program.display()),
        }
    }

    /// Sets where the code of a function is in S3.
    pub(crate) fn set_code(&mut self, function: &str, bucket: &str, key: &str) {
        let properties = &mut self.template["Resources"][function]["Properties"];
        properties["CodeUri"] = json!({"Bucket": bucket, "Key": key});
    }

    /// Sets the address of the template of a nested stack.
    pub(crate) fn set_nested_template(&mut self, stack: &str, url: &str) {
        self.template["Resources"][stack]["Properties"]["TemplateURL"] = json!(url);
    }

    /// Returns the template as JSON. Its output `Release` is the version of the functions.
    pub(crate) fn to_json(&self, version: &str) -> String {
        let mut template = self.template.clone();
        // The default of all functions names the folder of their source.
        if let Some(globals) = template.pointer_mut("/Globals/Function")
            && let Some(globals) = globals.as_object_mut()
        {
            globals.remove("CodeUri");
        }
        template["Outputs"]["Release"] = json!({
            "Description": "Version of Recollect that is deployed.",
            "Value": version,
        });
        template.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = "
Globals:
  Function:
    CodeUri: .
    Timeout: 30
Parameters:
  Arch: {Type: String}
Resources:
  SearchFunction:
    Type: AWS::Serverless::Function
    Properties: {CodeUri: SearchFunction, Handler: bootstrap}
  Monitoring:
    Type: AWS::CloudFormation::Stack
    Properties: {TemplateURL: Monitoring/template.yaml}
  Table:
    Type: AWS::DynamoDB::Table
";

    /// Makes a folder as `sam build` does. The program begins with `bytes`.
    fn build(bytes: &[u8]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("template.yaml"), TEMPLATE).unwrap();
        fs::create_dir(folder.path().join("SearchFunction")).unwrap();
        fs::write(folder.path().join("SearchFunction/bootstrap"), bytes).unwrap();
        folder
    }

    fn elf(machine: u8) -> Vec<u8> {
        let mut bytes = b"\x7fELF".to_vec();
        bytes.resize(18, 0);
        bytes.push(machine);
        bytes
    }

    #[test]
    fn files_are_found_and_replaced_by_their_addresses() {
        let folder = build(&elf(0x3e));
        let mut built = BuiltTemplate::open(folder.path()).unwrap();
        assert_eq!(built.architecture().unwrap(), "x86_64");
        assert_eq!(built.parameters(), ["Arch"]);
        let functions = built.functions();
        assert_eq!(
            functions["SearchFunction"],
            folder.path().join("SearchFunction")
        );
        let nested = built.nested_templates();
        assert_eq!(
            nested["Monitoring"],
            folder.path().join("Monitoring/template.yaml")
        );

        built.set_code("SearchFunction", "bucket", "functions/1.zip");
        built.set_nested_template("Monitoring", "https://example.com/nested");
        let sent: Value = serde_json::from_str(&built.to_json("1.2.3")).unwrap();
        let search = &sent["Resources"]["SearchFunction"]["Properties"];
        assert_eq!(
            search["CodeUri"],
            json!({"Bucket": "bucket", "Key": "functions/1.zip"})
        );
        let monitoring = &sent["Resources"]["Monitoring"]["Properties"];
        assert_eq!(monitoring["TemplateURL"], "https://example.com/nested");
        assert_eq!(sent["Globals"]["Function"], json!({"Timeout": 30}));
        assert_eq!(sent["Outputs"]["Release"]["Value"], "1.2.3");
    }

    #[test]
    fn what_is_not_built_is_refused_with_advice() {
        let folder = build(&elf(0xb7));
        assert_eq!(
            BuiltTemplate::open(folder.path())
                .unwrap()
                .architecture()
                .unwrap(),
            "arm64"
        );
        fs::write(folder.path().join("SearchFunction/bootstrap"), "#!/bin/sh").unwrap();
        let script = BuiltTemplate::open(folder.path()).unwrap();
        assert!(script.architecture().is_err());

        fs::remove_file(folder.path().join("SearchFunction/bootstrap")).unwrap();
        let error = BuiltTemplate::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("sam build"), "{error}");
        let empty = tempfile::tempdir().unwrap();
        let error = BuiltTemplate::open(empty.path()).unwrap_err().to_string();
        assert!(error.contains("sam build"), "{error}");
    }
}
