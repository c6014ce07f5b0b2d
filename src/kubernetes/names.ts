/** The rules of apimachinery pkg/util/validation/validation.go. */
const dnsLabel = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/u;
const qualifiedNamePart = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/u;

/** True for an RFC 1123 label: names of namespaces, volumes and hosts. */
export function isDnsLabel(text: string): boolean {
  return text.length <= 63 && dnsLabel.test(text);
}

/** True for an RFC 1123 subdomain: names of pods, claims, secrets and most other objects. */
export function isDnsSubdomain(text: string): boolean {
  return text.length <= 253 && text.split('.').every((part) => dnsLabel.test(part));
}

/** True for the value of a label; it may be empty. */
export function isLabelValue(text: string): boolean {
  return text === '' || (text.length <= 63 && qualifiedNamePart.test(text));
}

/** True for a key of a label or an annotation: `name` or `prefix/name`. */
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
