/** Rules of apimachinery pkg/util/validation/validation.go. */
const dnsLabel = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/u;
const qualifiedNamePart = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/u;

/** RFC 1123 label: namespaces, volume names, host names. */
export function isDnsLabel(text: string): boolean {
  return text.length <= 63 && dnsLabel.test(text);
}

/** RFC 1123 subdomain: pods, claims, secrets and most other names. */
export function isDnsSubdomain(text: string): boolean {
  return text.length <= 253 && text.split('.').every((part) => dnsLabel.test(part));
}

/** A label's value; the empty one is allowed. */
export function isLabelValue(text: string): boolean {
  return text === '' || (text.length <= 63 && qualifiedNamePart.test(text));
}

/** A key of labels or annotations: `name` or `prefix/name`. */
export function isQualifiedName(text: string): boolean {
  const parts = text.split('/');
  const name = parts.at(-1) ?? '';
  const prefix = parts.length === 2 ? parts[0] : undefined;
  return (
    parts.length <= 2 &&
    name.length <= 63 &&
    qualifiedNamePart.test(name) &&
    (prefix === undefined || isDnsSubdomain(prefix))
  );
}
