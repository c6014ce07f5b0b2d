/** Major and minor of a User-Agent such as `kubectl/v1.32.4 (linux/amd64) kubernetes/c0a9f5d`: what really ran. */
export function clientVersion(
  userAgent: string,
): { readonly text: string; readonly minor: number } | undefined {
  const [text, minor] = /^kubectl(?!-dispatcher)[^/]*\/v1\.(\d+)\S*/.exec(userAgent) ?? [];
  return text === undefined ? undefined : { text, minor: Number(minor) };
}
