/** Prints a message and ends the process with exit code 1. */
export function fail(sentence) {
  console.error(`bosh-kubernetes: ${sentence}`);
  process.exit(1);
}
