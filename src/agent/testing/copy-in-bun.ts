// Run by Bun, on which the agent's executable runs: copies a directory into another and prints the result.
import { text } from 'node:stream/consumers';
import { copyDirectory } from '../disk/copy-directory.ts';

const { source, target } = JSON.parse(await text(process.stdin)) as { source: string; target: string };
const error = await copyDirectory(source, target).then(
  () => undefined,
  (reason: Error) => reason.message,
);
console.log(JSON.stringify({ name: 'copyFolder', error }));
