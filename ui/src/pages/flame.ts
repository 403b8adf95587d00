import { startFlame } from "../flame/input";
import { startPage, startParts } from "../shared/part";

startPage();
startParts("flame", startFlame);
