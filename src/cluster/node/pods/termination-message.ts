import { chmod, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readLog } from '../logs/read-log.ts';
import { writeFile } from '../../../platform/write-file.ts';

/** kubelet's limits (kuberuntime: MaxContainerTerminationMessageLength and its kin). */
const longest = { message: 4096, fromLog: 2048, logLines: 80 };

/** Makes the file that a container sees as its terminationMessagePath, writable for whatever user it runs as. */
export async function makeMessageFile(path: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, '');
  await chmod(path, 0o666);
  return path;
}

/** What the container wrote there, cut to 4096 bytes. */
export async function readMessageFile(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(longest.message), 0, longest.message, 0);
    return buffer.subarray(0, bytesRead).toString();
  } finally {
    await file.close();
  }
}

/** The end of the container's log, for the policy FallbackToLogsOnError. */
export async function messageFromLog(logPath: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of readLog(logPath, { timestamps: false, tailLines: longest.logLines })) {
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).subarray(-longest.fromLog).toString();
}
