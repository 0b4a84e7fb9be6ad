import { encode } from 'uqr';

const namespace = 'http://www.w3.org/2000/svg';

/** A QR code as an image with dark squares, which needs a light background. */
export function drawQrCode(content: string): SVGSVGElement {
  const { data, size } = encode(content, { ecc: 'M', border: 4 });
  const squares = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')));
  const path = document.createElementNS(namespace, 'path');
  path.setAttribute('d', squares.join(''));
  const picture = document.createElementNS(namespace, 'svg');
  picture.setAttribute('viewBox', `0 0 ${size} ${size}`);
  picture.setAttribute('shape-rendering', 'crispEdges');
  picture.append(path);
  return picture;
}
