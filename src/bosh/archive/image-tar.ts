import { shellWord } from '../../platform/shell-word.ts';

/** Tars of a container image: in OCI layout, or in Docker's own format. */
export type ImageTar = 'oci-archive' | 'docker-archive';

/**
 * Names of entries in such tars (OCI image-spec, image-layout.md; moby: image/spec/v1.2.md). Layers are
 * `<digest>.tar` or `<id>/layer.tar`. Current Docker writes both formats into one tar.
 */
const names =
  /^(oci-layout|index\.json|manifest\.json|repositories|blobs(\/sha256(\/[0-9a-f]{64})?)?|[0-9a-f]{64}(\.json|\.tar|\/(VERSION|json|layer\.tar))?)$/u;

/** Recognises the tar of a container image by the names of its entries, as they are read. */
export class ImageTarGuess {
  /** The kind of image, judged by the entries so far. */
  kind: ImageTar | undefined;

  /**
   * Returns true if such a tar may have an entry of that name. The name has no leading `./` and no trailing
   * `/`.
   */
  mayHave(name: string): boolean {
    if (name === 'oci-layout') this.kind = 'oci-archive';
    if (name === 'manifest.json') this.kind ??= 'docker-archive';
    return names.test(name);
  }
}

/** Returns an error text with the command that converts such a file to a directory in OCI layout. */
export function imageTarProblem(kind: ImageTar, path: string): string {
  const word = shellWord(path);
  return kind === 'oci-archive'
    ? `'${path}' is the tar of a container image in OCI layout. Make a folder of it: mkdir layout && tar -xf ${word} -C layout`
    : `'${path}' is the tar of a container image as docker save makes it. Make a folder in OCI layout of it: skopeo copy docker-archive:${word} oci:layout:stemcell`;
}
