// Run by Bun, on which the agent's executable runs: copies one folder into another and says what came of it.
import { text } from 'node:stream/consumers';
import { copyFolder } from '../disk/copy-folder.ts';

const { source, target } = JSON.parse(await text(process.stdin)) as { source: string; target: string };
const error = await copyFolder(source, target).then(
  () => undefined,
  (reason: Error) => reason.message,
);
console.log(JSON.stringify({ name: 'copyFolder', error }));
