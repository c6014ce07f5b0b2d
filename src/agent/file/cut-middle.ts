const marker = '\n[... the middle was removed here, because the response would be too long ...]\n';

/**
 * Removes as much of the middle of a text as `fits` needs; a line marks the place. Returns the text unchanged
 * if it fits. `fits` must be true for all texts that are shorter than one that fits.
 */
export function cutMiddle(text: string, fits: (text: string) => boolean): string {
  if (fits(text)) return text;
  let kept = 0;
  let tooMuch = text.length;
  while (tooMuch - kept > 1) {
    const next = Math.floor((kept + tooMuch) / 2);
    if (fits(withoutMiddle(text, next))) kept = next;
    else tooMuch = next;
  }
  return withoutMiddle(text, kept);
}

/** Keeps that many characters. Half a surrogate pair becomes U+FFFD. */
function withoutMiddle(text: string, kept: number): string {
  const head = text.slice(0, Math.ceil(kept / 2)).toWellFormed();
  const tail = text.slice(text.length - Math.floor(kept / 2)).toWellFormed();
  return `${head}${marker}${tail}`;
}
