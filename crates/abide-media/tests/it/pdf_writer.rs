//! A PDF writer: objects in, a file with its table out.

/// Objects `1 0`, `2 0` and on; the first is the catalog.
pub(crate) fn write(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut file = b"%PDF-1.7\n".to_vec();
    let mut places = Vec::new();
    for (number, object) in (1..).zip(objects) {
        places.push(file.len());
        file.extend(format!("{number} 0 obj\n").bytes());
        file.extend_from_slice(object);
        file.extend(b"\nendobj\n");
    }
    let table = file.len();
    file.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    for place in places {
        file.extend(format!("{place:010} 00000 n \n").bytes());
    }
    let size = objects.len() + 1;
    file.extend(format!("trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n").bytes());
    file
}

pub(crate) fn stream(dict: &str, data: &[u8]) -> Vec<u8> {
    let mut object = format!("<< {dict} /Length {} >>\nstream\n", data.len()).into_bytes();
    object.extend_from_slice(data);
    object.extend(b"\nendstream");
    object
}

/// A document whose pages measure `width × height` points and share resources; each is its content stream.
pub(crate) fn document(
    width: u32,
    height: u32,
    resources: &str,
    pages: &[&str],
    more: &[Vec<u8>],
) -> Vec<u8> {
    let first_page = 3 + more.len();
    let kids: Vec<String> = (0..pages.len()).map(|page| format!("{} 0 R", first_page + 2 * page)).collect();
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), pages.len()).into_bytes(),
    ];
    objects.extend_from_slice(more);
    for content in pages {
        let number = objects.len() + 2;
        let page = format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width} {height}] /Resources << {resources} >> /Contents {number} 0 R >>"
        );
        objects.push(page.into_bytes());
        objects.push(stream("", content.as_bytes()));
    }
    write(&objects)
}
