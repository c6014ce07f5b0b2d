/** The result of one attempt of the probe. */
export interface Attempt {
  readonly isPossible: boolean;
  /** What was found, or the error. */
  readonly text: string;
}

/** The attempts of a probe by their names (probe-script.ts). */
export type ProbeReport = ReadonlyMap<string, Attempt>;

/** Parses the output of the probe. Ignores lines of another shape, which a program in the image may print. */
export function parseProbeReport(output: string): ProbeReport {
  const attempts = new Map<string, Attempt>();
  for (const line of output.split('\n')) {
    const [name = '', answer, text = ''] = line.split('\t');
    if (answer === 'yes' || answer === 'no')
      attempts.set(name, { isPossible: answer === 'yes', text: text.trim() });
  }
  return attempts;
}
