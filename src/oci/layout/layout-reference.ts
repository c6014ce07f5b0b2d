import { imageInvalid, parseObject } from '../blob.ts';
import { replaceFile } from '../../platform/durable-file.ts';
import { namesOf, layoutPaths, referenceName, readDocument } from './open-layout.ts';
import { isObject } from '../../platform/json.ts';

/**
 * Returns the name of the one image in a layout. If there are several images, returns `reference` if one of
 * them has that name. IMAGE_INVALID lists the names if the layout has several images, or none with a name.
 */
export async function layoutReference(directory: string, reference?: string): Promise<string> {
  const path = layoutPaths.index(directory);
  const manifests = parseObject(await readDocument(path), `'${path}'`)['manifests'];
  const images = (Array.isArray(manifests) ? manifests : []).map(namesOf);
  const [[name] = [], ...others] = images;
  if (reference === undefined && name !== undefined && others.length === 0) return name;
  const names = images.flat();
  if (reference !== undefined && names.includes(reference)) return reference;
  throw imageInvalid(
    names.length === 0
      ? `'${path}' contains no image with a name (annotation ${referenceName})`
      : `'${path}' contains images with these names: ${names.join(', ')}. Choose one with --reference NAME`,
  );
}

/**
 * Renames the one image in a layout. The image and its digest stay the same. Rejects with IMAGE_INVALID if
 * there are several.
 */
export async function renameLayout(directory: string, reference: string): Promise<void> {
  const path = layoutPaths.index(directory);
  const index = parseObject(await readDocument(path), `'${path}'`);
  const [entry, ...others] = Array.isArray(index['manifests']) ? index['manifests'] : [];
  if (!isObject(entry) || others.length > 0)
    throw imageInvalid(`'${path}' does not contain exactly one image`);
  const annotations = isObject(entry['annotations']) ? entry['annotations'] : {};
  const renamed = { ...entry, annotations: { ...annotations, [referenceName]: reference } };
  replaceFile(path, JSON.stringify({ ...index, manifests: [renamed] }), 0o644);
}
