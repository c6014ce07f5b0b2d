/** Ends the process with a sentence and exit code 1. */
export function fail(sentence) {
  console.error(`bosh-kubernetes: ${sentence}`);
  process.exit(1);
}
