// Run by Bun, on which the agent's executable runs: copies a directory into another and prints the result.
import { text } from 'node:stream/consumers';
import { copyFolder } from '../disk/copy-folder.ts';

const { source, target } = JSON.parse(await text(process.stdin)) as { source: string; target: string };
const error = await copyFolder(source, target).then(
  () => undefined,
  (reason: Error) => reason.message,
);
console.log(JSON.stringify({ name: 'copyFolder', error }));
