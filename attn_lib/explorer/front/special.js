// Cut a text at the special tokens in it, as the Python library `tokenizers` does: into texts and ids.
export function cut(text, special) {
  const names = Object.keys(special).sort((a, b) => b.length - a.length);
  if (!names.length) return [text];
  const pattern = names.map((name) => name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("|");
  return text
    .split(new RegExp(`(${pattern})`))
    .map((part) => (Object.hasOwn(special, part) ? special[part] : part))
    .filter((part) => part !== "");
}
