/** What the CPI needs of the process that it runs in. */
export interface CpiProcess {
  /** All of stdin. */
  readInput(): Promise<string>;
  readFile(path: string): Promise<string>;
  /** Writes all of it to stdout, however small the pipe; a reader that has gone away is nobody's error. */
  writeOutput(text: string): Promise<void>;
}
