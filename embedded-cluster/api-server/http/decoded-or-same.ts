/** Decodes percent-encoded text; returns the text unchanged if it is not a valid percent-encoding. */
export function tryDecodeUriComponent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return text;
    throw error;
  }
}
