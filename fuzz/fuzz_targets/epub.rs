//! E-books. The input describes the parts that follow the mandatory ones.

#![no_main]

use libfuzzer_sys::fuzz_target;

const HEAD: &str = "@@ mimetype\napplication/epub+zip\n@@ META-INF/container.xml\n<container \
    xmlns=\"urn:oasis:names:tc:opendocument:xmlns:container\" version=\"1.0\"><rootfiles><rootfile \
    full-path=\"book.opf\" media-type=\"application/oebps-package+xml\"/></rootfiles></container>\n";

fuzz_target!(init: fuzz::let_parsers_panic(), |input: &[u8]| {
    fuzz::extract_package(&[HEAD.as_bytes(), input].concat());
});
