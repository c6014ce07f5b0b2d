/** Formats milliseconds since the epoch as Kubernetes does (metav1.Time): in UTC, with whole seconds. */
export function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d{3}Z$/u, 'Z');
}
