/**
 * A release's version, `RELEASE[-PRE][+POST]`. Each segment consists of numbers and words, separated by dots
 * (cppforlife/go-semi-semantic).
 */
export interface ReleaseVersion {
  readonly release: Segment;
  readonly preRelease: Segment | undefined;
  readonly postRelease: Segment | undefined;
}

type Component = number | string;
type Segment = readonly Component[];

const pattern = /^([0-9A-Za-z_.]+)(?:-([0-9A-Za-z_.-]+))?(?:\+([0-9A-Za-z_.-]+))?$/u;

/** Returns undefined if the text is not a version. */
export function parseReleaseVersion(text: string): ReleaseVersion | undefined {
  const [, ...parts] = pattern.exec(text) ?? [];
  if (parts.length === 0) return undefined;
  const segments = parts.map((part) => (part === undefined ? undefined : parseSegment(part)));
  if (segments.includes('wrong')) return undefined;
  const [release, preRelease, postRelease] = segments as (Segment | undefined)[];
  return release === undefined ? undefined : { release, preRelease, postRelease };
}

function parseSegment(text: string): Segment | 'wrong' {
  const components = text.split('.').map((part) => (/^(0|[1-9][0-9]*)$/u.test(part) ? Number(part) : part));
  const isWrong = components.some((one) => (typeof one === 'number' ? !Number.isSafeInteger(one) : one === ''));
  return isWrong ? 'wrong' : components;
}

export function formatReleaseVersion({ release, preRelease, postRelease }: ReleaseVersion): string {
  const pre = preRelease === undefined ? '' : `-${preRelease.join('.')}`;
  const post = postRelease === undefined ? '' : `+${postRelease.join('.')}`;
  return `${release.join('.')}${pre}${post}`;
}

/** Compares versions for sorting. A pre-release comes before its release, a post-release after it. */
export function compareReleaseVersions(a: ReleaseVersion, b: ReleaseVersion): number {
  return (
    compareSegments(a.release, b.release) ||
    compareOptional(a.preRelease, b.preRelease, 1) ||
    compareOptional(a.postRelease, b.postRelease, -1)
  );
}

/** `missing` is the result if only `a` has no segment. */
function compareOptional(a: Segment | undefined, b: Segment | undefined, missing: 1 | -1): number {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? missing : -missing;
  return compareSegments(a, b);
}

/** Ignores trailing zeros: 1.0 equals 1. */
function compareSegments(a: Segment, b: Segment): number {
  for (let index = 0; index < Math.max(a.length, b.length); index += 1) {
    const order = compareComponents(a[index] ?? 0, b[index] ?? 0);
    if (order !== 0) return order;
  }
  return 0;
}

function compareComponents(a: Component, b: Component): number {
  if (a === b) return 0;
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;
  return a < b ? -1 : 1;
}

/**
 * Returns the version after the last final one, or undefined if its release segment does not end in a number.
 */
export function nextFinalVersion(last: ReleaseVersion | undefined): ReleaseVersion | undefined {
  if (last === undefined) return { release: [1], preRelease: undefined, postRelease: undefined };
  const release = incremented(last.release);
  return release && { release, preRelease: undefined, postRelease: undefined };
}

/**
 * Returns the version after the last dev or final one. With `seconds` (since 1970), these replace the
 * counter. Returns undefined if the post-release segment does not end in a number.
 */
export function nextDevVersion(last: ReleaseVersion | undefined, seconds?: number): ReleaseVersion | undefined {
  const { release, preRelease, postRelease } = last ?? { release: [0], preRelease: undefined, postRelease: ['dev', 0] };
  const counted = postRelease === undefined ? ['dev', 1] : incremented(postRelease);
  const next = seconds === undefined ? counted : ['dev', seconds];
  return next && { release, preRelease, postRelease: next };
}

function incremented(segment: Segment): Segment | undefined {
  const last = segment.at(-1);
  return typeof last === 'number' ? [...segment.slice(0, -1), last + 1] : undefined;
}
