import { createReadStream } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { isBlobId } from '../blob/blob-store.ts';
import type { BlobStore } from '../blob/blob-store.ts';

/**
 * Serves GET and PUT of `/blobs/<anything>/<id>`. Only the last path element is used (bosh-agent:
 * mbus/https_handler.go). PUT responds with 201, or 400 if the id is not a safe file name. GET responds with
 * 200 or 404, any other method with 404.
 */
export async function serveBlob(
  blobs: BlobStore,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const id = decodeId(path.slice(path.lastIndexOf('/') + 1));
  if (request.method === 'GET') return sendBlob(blobs, id, response);
  if (request.method !== 'PUT') return void response.writeHead(404).end();
  if (id === undefined) return void response.writeHead(400).end();
  await blobs.write(id, request);
  response.writeHead(201).end();
}

async function sendBlob(blobs: BlobStore, id: string | undefined, response: ServerResponse): Promise<void> {
  const blob = id === undefined ? undefined : await blobs.find(id);
  if (blob === undefined) return void response.writeHead(404).end();
  response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': blob.size });
  await pipeline(createReadStream(blob.path), response);
}

function decodeId(text: string): string | undefined {
  try {
    const id = decodeURIComponent(text);
    return isBlobId(id) ? id : undefined;
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}
