/** Places the nodes of a graph: nodes repel one another, edges pull, and everything is drawn to the centre. */

const REPULSION = 900;
const REACH = 150;
const NEAREST_SQUARE = 30;
const EDGE_LENGTH = 46;
const EDGE_PULL = 0.06;
const CENTRE_PULL = 0.012;
const DAMPING = 0.82;
const FASTEST = 24;

/** The half of the neighbouring cells that come after a cell, so that each pair of nodes is met once. */
const FORWARD = [
  [1, 0],
  [-1, 1],
  [0, 1],
  [1, 1],
];

/** Gives each node a place on a spiral, from which the layout begins. */
export function placeNodes(nodes) {
  nodes.forEach((node, index) => {
    const distance = 14 * Math.sqrt(index);
    const angle = index * 2.39996;
    Object.assign(node, { x: distance * Math.cos(angle), y: distance * Math.sin(angle), moveX: 0, moveY: 0 });
  });
}

/** Moves all nodes a little. `heat` falls from 1 to 0 while the layout settles. */
export function moveNodes(nodes, edges, heat) {
  repel(nodes, heat);
  for (const { source, target } of edges) {
    pull(source, target, heat);
  }
  for (const node of nodes) {
    node.moveX = (node.moveX - node.x * CENTRE_PULL * heat) * DAMPING;
    node.moveY = (node.moveY - node.y * CENTRE_PULL * heat) * DAMPING;
    const speed = Math.hypot(node.moveX, node.moveY);
    const slower = speed > FASTEST ? FASTEST / speed : 1;
    node.x += node.moveX * slower;
    node.y += node.moveY * slower;
  }
}

/** Only nodes in neighbouring cells of a grid repel one another, so that 1,000 nodes stay fast. */
function repel(nodes, heat) {
  const cells = new Map();
  for (const node of nodes) {
    const [column, row] = [Math.floor(node.x / REACH), Math.floor(node.y / REACH)];
    const key = cellKey(column, row);
    const cell = cells.get(key) ?? cells.set(key, { column, row, nodes: [] }).get(key);
    cell.nodes.push(node);
  }
  for (const cell of cells.values()) {
    pushWithin(cell.nodes, heat);
    for (const [right, down] of FORWARD) {
      pushBetween(cell.nodes, cells.get(cellKey(cell.column + right, cell.row + down))?.nodes ?? [], heat);
    }
  }
}

function pushWithin(nodes, heat) {
  for (let index = 0; index < nodes.length; index += 1) {
    for (let other = index + 1; other < nodes.length; other += 1) {
      push(nodes[index], nodes[other], heat);
    }
  }
}

function pushBetween(nodes, others, heat) {
  for (const node of nodes) {
    for (const other of others) {
      push(node, other, heat);
    }
  }
}

function push(node, other, heat) {
  const x = node.x - other.x;
  const y = node.y - other.y;
  const square = x * x + y * y;
  if (square > REACH * REACH) {
    return;
  }
  const force = (REPULSION * heat) / Math.max(square, NEAREST_SQUARE) / Math.max(Math.sqrt(square), 1);
  node.moveX += x * force;
  node.moveY += y * force;
  other.moveX -= x * force;
  other.moveY -= y * force;
}

function pull(source, target, heat) {
  const x = target.x - source.x;
  const y = target.y - source.y;
  const distance = Math.max(Math.hypot(x, y), 1);
  const force = (EDGE_PULL * heat * (distance - EDGE_LENGTH)) / distance;
  source.moveX += x * force;
  source.moveY += y * force;
  target.moveX -= x * force;
  target.moveY -= y * force;
}

function cellKey(column, row) {
  return column * 100003 + row;
}
