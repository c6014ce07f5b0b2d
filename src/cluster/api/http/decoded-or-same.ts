/** The text of a percent-encoded one; as it is, where it is no percent-encoding. */
export function tryDecodeUriComponent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return text;
    throw error;
  }
}
