/** A blobstore outside the VM. */
export interface RemoteBlobstore {
  /** Writes a blob into a new file. Throws AGENT_BLOB_NOT_FOUND or AGENT_BLOBSTORE_FAILED. */
  get(id: string, path: string): Promise<void>;
  /** Stores a file under a new id. Throws AGENT_BLOBSTORE_FAILED. */
  put(id: string, path: string): Promise<void>;
}
